/** `millrace run`: submits a run, follows it, and exits with a code for its outcome. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { rerunAt } from "#protocol/records/state";
import { type Millrace, MillraceError, type Run } from "#sdk/client/index";
import { type ConnectionOptions, connect } from "../connection.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { counted, dateTime, duration, stateLook, stateText } from "../terminal/format.ts";
import { resultText, tracebackLines } from "../terminal/outcome-lines.ts";
import { printable, Terminal } from "../terminal/terminal.ts";
import {
  type FileTarget,
  type FlowReference,
  findTarget,
  loadTarget,
  type NameTarget,
  parseParameters,
  parseTarget,
} from "./flow-target.ts";
import { RunFollower } from "./follow-run.ts";

export interface FollowedOptions extends ConnectionOptions {
  quiet?: boolean;
}

export interface RunOptions extends FollowedOptions {
  param: string[];
  tag: string[];
  name?: string;
  /** A file with the parameters of one run in each line. */
  each?: string;
  /** Do not follow the run. */
  detach?: boolean;
}

export async function run(text: string, options: RunOptions): Promise<number> {
  if (options.each !== undefined && options.name !== undefined)
    throw new CommandError("--name is the name of one run", "Leave it out with --each: each run gets a name of its own.");
  const target = parseTarget(text);
  const client = connect(options);
  const servedDir = await servedDirectory(client, options);
  if (servedDir !== undefined) return await submit(client, target, servedDir, options);
  if (target.kind === "name") {
    throw new CommandError(
      `no server is running that would know the flow "${target.flow}"`,
      "Name its file: millrace run FILE:FLOW.",
    );
  }
  if (options.each !== undefined) throw new CommandError("no server is running that would execute the runs");
  if (options.detach === true) throw new CommandError("no server is running that would go on with the run");
  return await runWithOwnServer(target, options);
}

/** The directory the running server serves; undefined without a server. A server given by address must exist. */
async function servedDirectory(client: Millrace, options: RunOptions): Promise<string | null | undefined> {
  try {
    return (await client.server()).served_dir;
  } catch (error) {
    if (error instanceof MillraceError && error.reason === "unreachable" && options.url === undefined) return undefined;
    throw error;
  }
}

/**
 * A server for this one run, on the user's home, so that the run is in the history afterwards. The server serves an empty
 * directory, because other flows beside the file, and their schedules, must not run.
 */
async function runWithOwnServer(target: FileTarget, options: RunOptions): Promise<number> {
  const { loadConfig } = await import("#server/config/config");
  const { startServer } = await import("../serve/running-server.ts");
  const loaded = loadConfig(
    { home: options.home, host: "127.0.0.1", port: "0", open: false, schedules: false },
    process.env,
    dirname(target.path),
  );
  const empty = mkdtempSync(join(tmpdir(), "millrace-run-"));
  try {
    const server = await startServer(loaded, empty);
    const { token } = loaded.config;
    try {
      return await submit(connect({ url: server.url, ...(token === null ? {} : { token }) }), target, null, options);
    } finally {
      await server.stop();
      await server.stopped;
    }
  } finally {
    rmSync(empty, { recursive: true, force: true });
  }
}

async function submit(
  client: Millrace,
  target: FileTarget | NameTarget,
  servedDir: string | null,
  options: RunOptions,
): Promise<number> {
  const flow = target.kind === "file" ? await fileTarget(client, target, servedDir) : await findTarget(client, target);
  const { parameter_schema, ...reference } = flow;
  const wanted = {
    ...(target.kind === "file" ? flow : reference),
    parameters: parseParameters(options.param, parameter_schema),
    tags: options.tag,
    created_by: "cli",
  };
  if (options.each !== undefined) {
    const { createEach, readLines } = await import("./run-each.ts");
    return await createEach(client, wanted, await readLines(options.each), options);
  }
  const created = await client.runs.create({ ...wanted, name: options.name });
  return options.detach === true ? tellCreated(created, options) : await follow(client, created, options);
}

async function fileTarget(client: Millrace, target: FileTarget, servedDir: string | null): Promise<FlowReference> {
  const flow = await loadTarget(target, servedDir);
  const { servedElsewhere } = await import("#sdk/modules/served-elsewhere");
  const refused = await servedElsewhere(client, flow);
  if (refused !== null) throw new CommandError(refused);
  return flow;
}

function tellCreated(created: Run, options: RunOptions): number {
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json(created);
  else if (options.quiet !== true) out.line(headLine(created, out));
  return EXIT.ok;
}

function headLine({ id, name, project, flow_name }: Run, terminal: Terminal): string {
  return `Run ${id}  ${terminal.paint("bold", printable(name))}  of ${project}/${flow_name}`;
}

/**
 * Follows a run to its end, and after a crash its rerun; cancels the run when this process is interrupted. Returns the exit
 * code of the latest run.
 */
export async function follow(client: Millrace, created: Run, options: FollowedOptions): Promise<number> {
  const quiet = options.quiet === true || options.json === true;
  const out = new Terminal(process.stdout);
  for (let run = created; ; ) {
    if (!quiet) out.line(headLine(run, out));
    const ended = await followOne(client, run, quiet ? null : out);
    const dueUs = rerunAt(ended.state);
    if (options.quiet !== true && (options.json !== true || dueUs === null)) say(ended, options, out);
    const failed = ended.state.type === "Failed" || ended.state.type === "Crashed";
    if (failed && options.quiet === true) new Terminal(process.stderr).line(`millrace: run ${ended.id} ${failureText(ended)}`);
    if (dueUs === null) return exitCodeOf(ended);
    if (!quiet)
      out.line(out.paint("dim", `It is run again at ${dateTime(dueUs)}. Press Ctrl-C to leave; it is run again all the same.`));
    const rerun = await rerunOf(client, ended);
    if (rerun === null) {
      if (options.json === true) out.json(ended);
      return exitCodeOf(ended);
    }
    run = rerun;
  }
}

async function followOne(client: Millrace, { id }: Run, out: Terminal | null): Promise<Run> {
  const cancel = cancelOnInterrupt(client, id);
  try {
    return await new RunFollower(client, id, { log: out, progress: out }).untilEnd();
  } finally {
    cancel();
  }
}

function say(ended: Run, options: FollowedOptions, out: Terminal): void {
  if (options.json === true) out.json(ended);
  else for (const line of endLines(ended, out)) out.line(line);
}

/**
 * The run that the server creates for a crashed run; null if none was created, as after the cancel of a backfill, and after a
 * signal.
 */
async function rerunOf(client: Millrace, crashed: Run): Promise<Run | null> {
  const left = new AbortController();
  const leave = () => left.abort();
  process.on("SIGINT", leave).on("SIGTERM", leave);
  try {
    return await client.runs.rerunOf(crashed, { signal: left.signal });
  } catch (error) {
    if (left.signal.aborted) return null;
    throw error;
  } finally {
    process.off("SIGINT", leave).off("SIGTERM", leave);
  }
}

/** 0 completed, 1 failed or crashed, 2 any other end; a skipped run did not run. */
export function exitCodeOf(run: Run): number {
  if (run.state.type === "Failed" || run.state.type === "Crashed") return EXIT.runFailed;
  return run.state.type === "Completed" && run.state.name !== "Skipped" ? EXIT.ok : EXIT.otherEnd;
}

function endLines(run: Run, terminal: Terminal): string[] {
  const state = terminal.paint(["bold", ...[stateLook(run.state).style].flat()], stateText(run.state));
  const took = run.total_run_time === null ? "" : ` after ${duration(run.total_run_time)}`;
  const tasks = Object.values(run.task_counts).reduce((sum, count) => sum + count, 0);
  const lines = [`${state}${took}${tasks === 0 ? "" : `, ${counted(tasks, "task")}`}`];
  const completed = run.state.type === "Completed";
  if (!completed && run.state.message !== null && run.state.message.toLowerCase() !== run.state.name.toLowerCase())
    lines.push(terminal.paint("red", printable(run.state.message)));
  const result = resultText(run.state);
  if (result !== null) lines.push(`${terminal.paint("dim", "Result:")} ${result}`);
  return [...lines, ...tracebackLines(run.state, terminal)];
}

function failureText(run: Run): string {
  const words = run.state.type === "Crashed" ? "crashed" : "failed";
  return run.state.message === null ? words : `${words}: ${printable(run.state.message)}`;
}

/** The first signal cancels the run and waits for its end, the second exits without waiting. */
function cancelOnInterrupt(client: Millrace, runId: number): () => void {
  let asked = false;
  const handler = () => {
    if (asked) process.exit(EXIT.otherEnd);
    asked = true;
    const terminal = new Terminal(process.stderr);
    terminal.line(`\nCancelling run ${runId}. Press Ctrl-C again to leave without waiting.`);
    client.runs
      .cancel(runId)
      .catch((error: unknown) => terminal.line(`millrace: ${error instanceof Error ? error.message : error}`));
  };
  process.on("SIGINT", handler).on("SIGTERM", handler);
  return () => process.off("SIGINT", handler).off("SIGTERM", handler);
}

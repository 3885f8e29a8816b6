import childProcess, { ChildProcess } from "node:child_process";
import { closeSync, openSync, readSync, unlinkSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { uuidv7 } from "uuidv7";
import { RUN_MARK } from "#system/run-processes";
import { currentScope, type Scope } from "../execution/active-run.ts";
import type { Gauges } from "../execution/gauges.ts";
import { shared } from "../execution/shared-state.ts";
import { ChildOutput } from "./child-output.ts";
import type { StreamName } from "./printed-lines.ts";

const FOLLOWED = Symbol.for("millrace.children");

const READ_BYTES = 65_536;

export interface ChildFollowing {
  gauges?: Gauges;
  /** False: output of children to inherited streams stays on the terminal. */
  capturesOutput: boolean;
}

/** The options that Node's spawn passes to the new child process. */
interface StartOptions {
  stdio?: unknown;
  envPairs?: string[];
}

/**
 * After this call, child processes started inside a run carry the run's mark, by which the engine finds them when the run ends,
 * and their output to inherited standard streams goes to the run's log.
 */
export function followChildren(following: ChildFollowing): void {
  const prototype = ChildProcess.prototype as unknown as { [FOLLOWED]?: true; spawn(options: StartOptions): number };
  if (prototype[FOLLOWED] === true) return;
  prototype[FOLLOWED] = true;
  shared.gauges = following.gauges;
  const { spawn } = prototype;
  // Every asynchronous way to start a child calls this method: spawn, exec, execFile and fork.
  prototype.spawn = function (this: ChildProcess, options: StartOptions): number {
    const scope = currentScope();
    if (scope === undefined) return spawn.call(this, options);
    following.gauges?.noteChild();
    const inherited = inheritedBy(options.stdio, scope, following);
    const envPairs = options.envPairs?.filter((pair) => !pair.startsWith(`${RUN_MARK}=`)).concat(`${RUN_MARK}=${markOf(scope)}`);
    const stdio =
      inherited.size === 0 ? options.stdio : entriesOf(options.stdio).map((entry, at) => (inherited.has(at) ? "pipe" : entry));
    const error = spawn.call(this, { ...options, ...(envPairs === undefined ? {} : { envPairs }), stdio });
    for (const [at, name] of inherited) takeOutput(this, at, scope, name, following.gauges);
    return error;
  };
  for (const name of ["spawnSync", "execFileSync", "execSync"] as const) followSync(name, following);
  syncBuiltinESMExports();
}

function markOf({ run }: Scope): string {
  return run.externalId;
}

function entriesOf(stdio: unknown): unknown[] {
  return Array.isArray(stdio) ? stdio : [stdio, stdio, stdio];
}

/** The child's descriptors that would inherit the engine's output, with the stream of each. */
function inheritedBy(stdio: unknown, { run }: Scope, { capturesOutput }: ChildFollowing): Map<number, StreamName> {
  const found = new Map<number, StreamName>();
  if (!capturesOutput || !run.logPrints) return found;
  for (const [at, entry] of entriesOf(stdio).entries()) {
    if (at === 0) continue;
    if (entry === 1 || entry === process.stdout || (entry === "inherit" && at === 1)) found.set(at, "stdout");
    else if (entry === 2 || entry === process.stderr || (entry === "inherit" && at === 2)) found.set(at, "stderr");
  }
  return found;
}

/** Reads the output of a child. To the calling code the child looks as if it had inherited the stream. */
function takeOutput(child: ChildProcess, at: number, scope: Scope, name: StreamName, gauges: Gauges | undefined): void {
  const stream = child.stdio[at] as Socket | null | undefined;
  if (stream == null) return;
  Object.assign(child.stdio, { [at]: null });
  if (at === 1) child.stdout = null;
  if (at === 2) child.stderr = null;
  const { run } = scope;
  const lines = run.printed.open(scope, name);
  const output = new ChildOutput(stream, gauges, (chunk) => {
    // After the end of the run the output goes where the child would have written without capture.
    if (run.ended) process[name].write(chunk);
    else lines.write(chunk);
  });
  stream.once("close", () => run.printed.close(lines));
  const complete = async (): Promise<void> => {
    await output.complete();
    if (!output.open) return;
    // The child's own "close" waits for its pipes, but would not have waited for inherited streams.
    stream.emit("close");
    stream.removeAllListeners("close");
  };
  child.once("exit", () => run.printed.expect(complete()));
}

type SyncCall = (...values: unknown[]) => unknown;

/** Output cannot be read while a synchronous child runs, so it goes to a file until the child ends. */
function followSync(name: "spawnSync" | "execFileSync" | "execSync", following: ChildFollowing): void {
  const call = childProcess[name] as SyncCall;
  const followed: SyncCall = (...values) => {
    const scope = currentScope();
    if (scope === undefined) return call(...values);
    following.gauges?.noteChild();
    while (values.length > 1 && values.at(-1) == null) values.pop();
    const last = values.length > 1 ? values.at(-1) : undefined;
    const given =
      typeof last === "object" && last !== null && !Array.isArray(last) ? (last as Record<string, unknown>) : undefined;
    if (given !== undefined) values.pop();
    const env = { ...((given?.["env"] as NodeJS.ProcessEnv | undefined) ?? process.env), [RUN_MARK]: markOf(scope) };
    const files = [...inheritedBy(given?.["stdio"], scope, following)].map(([at, stream]) => new OutputFile(at, stream));
    const stdio = entriesOf(given?.["stdio"]).map((entry, at) => files.find((file) => file.at === at)?.descriptor ?? entry);
    try {
      return call(...values, { ...given, env, ...(files.length === 0 ? {} : { stdio }) });
    } finally {
      for (const file of files) file.moveTo(scope);
    }
  };
  Object.assign(childProcess, { [name]: followed });
}

/** An unnamed temporary file. */
class OutputFile {
  readonly at: number;
  readonly descriptor: number;
  readonly #name: StreamName;

  constructor(at: number, name: StreamName) {
    const path = join(tmpdir(), `millrace-${uuidv7()}`);
    this.at = at;
    this.#name = name;
    this.descriptor = openSync(path, "wx+", 0o600);
    unlinkSync(path);
  }

  moveTo(scope: Scope): void {
    const { printed } = scope.run;
    const lines = printed.open(scope, this.#name);
    const chunk = Buffer.allocUnsafe(READ_BYTES);
    for (let from = 0, length = -1; length !== 0; from += length) {
      length = readSync(this.descriptor, chunk, 0, READ_BYTES, from);
      lines.write(chunk.subarray(0, length));
    }
    printed.close(lines);
    closeSync(this.descriptor);
  }
}

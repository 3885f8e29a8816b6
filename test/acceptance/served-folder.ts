/** A folder with flows and the installed package, served by `millrace serve` as a user does. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type CreatedRun, Millrace, type NewRun, type Run } from "#sdk/client/index";

const LOOK_MS = 50;
const START_LIMIT_MS = 120_000;
/** Runs that are read at a time. */
const READ_AT_ONCE = 20;

export interface ServeOptions {
  /** Text of millrace.toml; empty for the default settings. */
  settings?: string;
  /** Home of an earlier server; default: a new one. */
  home?: string;
  /** Heap limit of server and engines in MB. */
  heapMb?: number;
}

export class ServedFolder {
  readonly client: Millrace;
  readonly pid: number;
  readonly #process: ChildProcess;
  readonly #flows: ReadonlyMap<string, number>;

  private constructor(client: Millrace, process: ChildProcess, pid: number, flows: ReadonlyMap<string, number>) {
    this.client = client;
    this.#process = process;
    this.pid = pid;
    this.#flows = flows;
  }

  /** @param folder holds `flows/` and the package in `node_modules/` */
  static async start(folder: string, { settings = "", heapMb, ...options }: ServeOptions = {}): Promise<ServedFolder> {
    const home = options.home ?? mkdtempSync(join(folder, "home-"));
    writeFileSync(join(folder, "flows/millrace.toml"), settings);
    const program = join(folder, "node_modules/millrace/dist/cli/main.js");
    const { NODE_OPTIONS: _, ...env } = process.env;
    const server = spawn(process.execPath, [program, "serve", "flows", "--home", home, "--port", "0", "--no-open"], {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...env, ...(heapMb === undefined ? {} : { NODE_OPTIONS: `--max-old-space-size=${heapMb}` }) },
    });
    try {
      const { url, pid } = await appeared(join(home, "server.json"), server);
      const client = new Millrace({ url });
      return new ServedFolder(client, server, pid, await flowsOf(client));
    } catch (error) {
      server.kill("SIGKILL");
      throw error;
    }
  }

  async create(flow: string, parameters: readonly object[]): Promise<CreatedRun[]> {
    const flow_id = this.#flows.get(flow);
    if (flow_id === undefined) throw new Error(`there is no flow ${flow}`);
    return await this.client.runs.createMany(parameters.map((each) => ({ flow_id, parameters: { ...each } }) as NewRun));
  }

  /** Resolves when all runs of a flow have ended, and none of them is to be run again. */
  async allEnded(flow: string): Promise<void> {
    const flow_id = this.#flows.get(flow) ?? 0;
    for (;;) {
      const { states } = await this.client.runs.counts({ flow_id });
      if (!Object.entries(states).some(([name, count]) => count > 0 && !ENDED.has(name))) return;
      await sleep(LOOK_MS);
    }
  }

  /** The runs that followed a run because it crashed, itself first, once the last of them has ended. */
  async line(id: number): Promise<Run[]> {
    const line: Run[] = [];
    for (let next: number | undefined = id; next !== undefined; ) {
      const ended: Run = await this.ended(next);
      line.push(ended);
      next = (await this.client.runs.rerunOf(ended))?.id;
    }
    return line;
  }

  async stop(): Promise<void> {
    this.#process.kill("SIGTERM");
    if (this.#process.exitCode === null) await once(this.#process, "exit");
  }

  /** Ends the server at once, like a crash. */
  async kill(): Promise<void> {
    const exited = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await exited;
  }

  /** Ends an engine that executes runs, like a crash; false if there is none. */
  async killEngine(random?: number): Promise<boolean> {
    return (await this.signalEngine("SIGKILL", random)) !== null;
  }

  /** Signals an engine that executes runs; its process id, or null if there is none. `random` is in [0, 1). */
  async signalEngine(name: NodeJS.Signals, random = Math.random()): Promise<number | null> {
    const running = await this.client.runs.list({ state_type: "Running" }, { pageSize: 100 }).first(100);
    const pids = [...new Set(running.map(({ engine_pid }) => engine_pid))].filter((pid) => pid !== null);
    const pid = pids[Math.floor(random * pids.length)];
    return pid !== undefined && signalProcess(pid, name) ? pid : null;
  }

  /** The run, once it has ended. */
  async ended(id: number): Promise<Run> {
    for (;;) {
      const run = await this.client.runs.get(id);
      if (ENDED.has(run.state.type)) return run;
      await sleep(LOOK_MS);
    }
  }
}

/** False for a process that has ended. */
export function signalProcess(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** Names of the states in which a run has ended. */
export const ENDED: ReadonlySet<string> = new Set([
  "Completed",
  "Failed",
  "Cancelled",
  "Crashed",
  "TimedOut",
  "Skipped",
  "Cached",
]);

async function appeared(path: string, server: ChildProcess): Promise<{ url: string; pid: number }> {
  const untilMs = performance.now() + START_LIMIT_MS;
  while (performance.now() < untilMs && server.exitCode === null) {
    try {
      const found = JSON.parse(readFileSync(path, "utf8")) as { url: string; pid: number };
      // The file of a killed server is left.
      if (found.pid === server.pid) return found;
    } catch {
      // There is none yet.
    }
    await sleep(LOOK_MS);
  }
  throw new Error(`the server did not start: ${String(server.exitCode)}`);
}

async function flowsOf(client: Millrace): Promise<Map<string, number>> {
  const untilMs = performance.now() + START_LIMIT_MS;
  for (;;) {
    const flows = await client.flows.list();
    if (flows.length > 0) return new Map(flows.map(({ name, id }) => [name, id]));
    if (performance.now() > untilMs) throw new Error("the server found no flows");
    await sleep(LOOK_MS);
  }
}

/** Calls `read` for each value, some at a time, in order. */
export async function readEach<T, R>(values: readonly T[], read: (value: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < values.length; at += READ_AT_ONCE)
    results.push(...(await Promise.all(values.slice(at, at + READ_AT_ONCE).map(read))));
  return results;
}

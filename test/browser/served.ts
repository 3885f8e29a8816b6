/** A real server in a separate process, on a temporary home, with flows and runs in every state that pages show. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Millrace, type Run } from "#sdk/client/index";
import { seedStore } from "../load/seed-store.ts";
import { startServer } from "../load/server-process.ts";
import { builtPath } from "../support/built-package.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FLOWS = fileURLToPath(new URL("flows", import.meta.url));
const SEED = 1;
const STARTS_MAX = 3;
/** One flow of each served file. */
const FLOW_OF_EACH_FILE = ["many_tasks", "weather-report"];

export interface ServedOptions {
  /** Ended runs in the store at the start. */
  runs?: number;
  token?: string;
  /** False: the server starts no engines, so that runs wait. */
  engines?: boolean;
  /** True: schedules fire. Otherwise they are paused, and only the tests cause changes. */
  schedules?: boolean;
  /** Further files beside the flows, by name. */
  files?: Readonly<Record<string, string>>;
}

export class Served {
  readonly client: Millrace;
  readonly url: string;
  readonly #home: string;
  readonly #flows: string;
  readonly #args: readonly string[];
  readonly #token: string | null;
  #stop: () => Promise<void>;
  #port: number;

  private constructor(
    home: string,
    flows: string,
    args: readonly string[],
    token: string | null,
    port: number,
    stop: () => Promise<void>,
  ) {
    this.#home = home;
    this.#flows = flows;
    this.#args = args;
    this.#token = token;
    this.#port = port;
    this.#stop = stop;
    this.url = `http://127.0.0.1:${port}`;
    this.client = new Millrace({ url: this.url, token });
  }

  static async start({ runs = 0, token, engines = true, schedules = false, files = {} }: ServedOptions = {}): Promise<Served> {
    const home = mkdtempSync(join(tmpdir(), "millrace-browser-"));
    if (runs > 0) seedStore(join(home, "home"), runs, SEED);
    else mkdirSync(join(home, "home"));
    const flows = copyOfFlows(files);
    const args = ["--home", join(home, "home"), "--max-engines", "8", "--no-open"];
    if (!engines) args.push("--no-engines");
    if (token !== undefined) args.push("--token", token);
    for (let tries = 1; ; tries += 1) {
      const { endpoint, stop } = await startProcess(home, flows, args, token ?? null, 0);
      const served = new Served(home, flows, args, token ?? null, endpoint.port, stop);
      const found = await served.client.flows.list();
      if (FLOW_OF_EACH_FILE.every((wanted) => found.some(({ name }) => name === wanted))) {
        if (!schedules) await Promise.all(found.map(({ id }) => served.client.flows.pause(id)));
        return served;
      }
      // On a machine under load, discovery may give up on a file with a slow import.
      await stop();
      if (tries === STARTS_MAX) throw new Error("the server found no flows");
    }
  }

  /** Kills the process at once, like a crash. */
  async stop(): Promise<void> {
    await this.#stop();
  }

  /** Starts it again on the same port and home. */
  async restart(): Promise<void> {
    this.#stop = (await startProcess(this.#home, this.#flows, this.#args, this.#token, this.#port)).stop;
  }

  /** Ends the runs first, because engines finish their runs even without the server. */
  async close(): Promise<void> {
    const active = [];
    for (const state_type of ["Scheduled", "Pending", "Running"])
      for await (const run of this.client.runs.list({ state_type })) active.push(run);
    await Promise.all(active.map(({ id }) => this.client.runs.cancel(id).catch(() => undefined)));
    const started = active.filter(({ state }) => state.type !== "Scheduled");
    await Promise.all(started.map((run) => this.until(run, "Cancelled", "Completed", "Failed", "Crashed")));
    await this.#stop();
    rmSync(this.#home, { recursive: true, force: true });
    rmSync(dirname(this.#flows), { recursive: true, force: true });
  }

  /** Adds a file beside the flows; the server discovers again. */
  addFile(name: string, text: string): void {
    writeFileSync(join(this.#flows, name), text);
  }

  async flowId(name: string): Promise<number> {
    const found = (await this.client.flows.list()).find((flow) => flow.name === name);
    if (found === undefined) throw new Error(`no flow is called ${name}`);
    return found.id;
  }

  async run(flow: string, parameters: Record<string, unknown> = {}): Promise<Run> {
    return this.client.flows.run(await this.flowId(flow), { parameters } as never);
  }

  /** Resolves when the run is in one of these states. */
  async until(run: Run, ...names: string[]): Promise<void> {
    await this.#onChanges("run.updated", async () => {
      const { state } = await this.client.runs.get(run.id);
      return names.includes(state.name) || names.includes(state.type);
    });
  }

  /** Resolves when `runs` runs of the flow have completed. */
  async untilCompleted(flow: string, runs: number): Promise<void> {
    const wanted = { flow, state_type: "Completed" } as const;
    await this.#onChanges("run.updated", async () => (await this.client.runs.list(wanted).page()).items.length >= runs);
  }

  /** Resolves when a schedule of the flow is paused. */
  async untilSchedulePaused(flow: string): Promise<void> {
    const id = await this.flowId(flow);
    await this.#onChanges("schedule.updated", async () => (await this.client.schedules.list(id)).some(({ active }) => !active));
  }

  /** Calls `asked` at once and after each such stream message, until it returns true. */
  async #onChanges(event: "run.updated" | "schedule.updated", asked: () => Promise<boolean>): Promise<void> {
    const abort = new AbortController();
    // The first message confirms that the stream is open: later changes cannot be missed.
    for await (const message of this.client.stream({ signal: abort.signal }))
      if (["hello", "resync", event].includes(message.event) && (await asked())) break;
    abort.abort();
  }
}

/**
 * A copy of the flows inside the package, because a server writes changed settings beside them, and they find the package
 * only from there.
 */
function copyOfFlows(files: Readonly<Record<string, string>>): string {
  const built = join(ROOT, "dist");
  mkdirSync(built, { recursive: true });
  const copy = join(mkdtempSync(join(built, "served-")), "flows");
  cpSync(FLOWS, copy, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(copy, name), text);
  return copy;
}

function startProcess(home: string, flows: string, args: readonly string[], token: string | null, port: number) {
  return startServer({
    program: process.execPath,
    args: [builtPath("cli/main"), "serve", flows, ...args, "--port", String(port)],
    cwd: ROOT,
    home: join(home, "home"),
    token,
    settingsPrefix: "MILLRACE_",
  });
}

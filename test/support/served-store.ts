/** A server on a store in PostgreSQL under load, while a test ends the store or the server: what was acknowledged must exist afterwards. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import { builtPath } from "./built-package.ts";
import { checkRuns } from "./check-runs.ts";
import { FaultLoad } from "./fault-load.ts";
import { drained } from "./stored-runs.ts";

/** A server and its store live at least this long between two crashes, so that there is work to lose. */
export const LIFE_MS = 1000;
const SHAPE = { clients: 4, engines: 4, createsPerSecond: 100, resources: { desk: 1 }, lease: { tool: 1 } };
/** Fewer of both than engines, so that runs wait. */
const RESOURCES = "[resources]\ndesk = 3\ntool = 2\n";
/** Time to execute what is left; crashed runs are rerun after at most 15 s. */
const DRAIN_MAX_MS = 90_000;

/** A served folder, its server and the load on it. */
export class ServedStore {
  readonly #folder = mkdtempSync(join(tmpdir(), "millrace-crash-"));
  readonly #home = join(this.#folder, "home");
  readonly #store: string;
  #child: ChildProcess;
  readonly load = new FaultLoad(() => this.url());

  constructor(store: string) {
    this.#store = store;
    writeFileSync(join(this.#folder, "millrace.toml"), RESOURCES, { mode: 0o600 });
    this.#child = this.#start();
  }

  /** The address of the server that runs, once it listens. */
  url(): string | null {
    try {
      const found = JSON.parse(readFileSync(join(this.#home, "server.json"), "utf8")) as { pid: number; url: string };
      return found.pid === this.#child.pid ? found.url : null;
    } catch {
      return null;
    }
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async restart(): Promise<void> {
    await this.#end("SIGKILL");
    this.#child = this.#start();
  }

  /** Resolves with the exit code and the signal. */
  async stop(): Promise<unknown[]> {
    const ended = await this.#end("SIGTERM");
    rmSync(this.#folder, { recursive: true });
    return ended;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  async #end(signal: "SIGKILL" | "SIGTERM"): Promise<unknown[]> {
    const ended = once(this.#child, "exit");
    this.#child.kill(signal);
    return await ended;
  }

  #start(): ChildProcess {
    const args = ["serve", this.#folder, "--home", this.#home, "--port", "0", "--no-open", "--no-engines"];
    const env = { ...process.env, MILLRACE_STORE: this.#store };
    return spawn(process.execPath, [builtPath("cli/main"), ...args], { stdio: ["ignore", "ignore", "inherit"], env });
  }
}

/** Waits until creates are acknowledged again; returns how long that took from now, in milliseconds. */
export async function acknowledged(served: ServedStore, count: number): Promise<number> {
  const fromMs = performance.now();
  const before = served.load.acknowledged.length;
  while (served.load.acknowledged.length < before + count) {
    if (!served.running) throw new Error("the server has ended");
    await sleep(5);
  }
  return performance.now() - fromMs;
}

/** Crashes the store or the server `crashes` times; `crash` resolves with the milliseconds until answers returned. */
export async function crashUnderLoad(
  t: Test,
  store: string,
  crashes: number,
  crash: (served: ServedStore) => Promise<number>,
): Promise<void> {
  const served = new ServedStore(store);
  t.teardown(async () => {
    served.kill();
    await served.load.stop();
  });
  served.load.start(SHAPE);
  await acknowledged(served, 1);
  const returnedMs: number[] = [];
  for (let index = 0; index < crashes; index += 1) {
    await sleep(LIFE_MS);
    returnedMs.push(await crash(served));
  }
  served.load.stopCreating();
  const url = served.url();
  if (url === null) throw new Error("the last server is not there");
  t.ok(await drained(url, DRAIN_MAX_MS), "every run is executed");
  await served.load.stop();
  await checkRuns(t, served.load, url);
  const refusals = [...served.load.refused].map(([status, count]) => `${count} answered ${status}`).join(", ");
  t.same(
    [...served.load.refused.keys()].filter((status) => status !== 503),
    [],
    "an outage is answered 503",
  );
  t.comment(`${crashes} crashes, answers returned after ${returnedMs.map((ms) => ms.toFixed(0)).join(", ")} ms`);
  t.comment(`${served.load.completed.length} runs executed, ${served.load.cut} requests cut, ${refusals || "none refused"}`);
  t.same(await served.stop(), [0, null], "an orderly stop at the end");
}

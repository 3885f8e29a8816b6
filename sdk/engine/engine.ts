/** The engine's main loop: imports its module, polls for work, and executes one run or job after another. */
import { setTimeout as sleep } from "node:timers/promises";
import type { WorkItem, WorkResponse } from "#protocol/records/engine";
import type { MillraceOptions } from "../client/index.ts";
import { Connection, type ServerAddress } from "./connection.ts";
import { doJob } from "./jobs.ts";
import { FIRST_WAIT_MS, WAIT_MS_LONGEST } from "./retrying.ts";
import { RunControl } from "./run-control.ts";
import { type EngineIdentity, ServerApi, UnexpectedAnswer } from "./server-api.ts";
import { ThreadKeeper } from "./thread-keeper.ts";

/** Delay before the next poll after a refused one: refusals come at once, so polling without a delay would be a tight loop. */
const REFUSED_POLL_WAIT_MS = 1_000;

export interface EngineSettings {
  identity: EngineIdentity;
  /** Read again after each lost connection. */
  address: () => ServerAddress;
  /** The same for user code. */
  server: MillraceOptions;
  home: string;
  /** Heap limit of the user thread in MB, null for the default. */
  heapMb: number | null;
  graceMs: number;
  heartbeatMs: number;
  /** A run is given up after this long without a server. */
  lostMs: number;
  /** An idle engine exits after this long without a server. */
  giveUpMs: number;
  complain(text: string): void;
}

/** How often the engine looks for a server within the time after which it exits. */
const LOADING_LOOKS = 6;

/** The engine process: imports one module, then executes its runs one at a time. */
export class Engine {
  readonly #settings: EngineSettings;
  readonly #api: ServerApi;
  readonly #keeper: ThreadKeeper;
  readonly #idle = new AbortController();
  #current: RunControl | null = null;
  #stops = 0;
  #loading = true;

  constructor(settings: EngineSettings) {
    this.#settings = settings;
    this.#api = new ServerApi(settings.identity, (timeoutMs) => new Connection(settings.address, timeoutMs));
    const { sourceDir, module } = settings.identity;
    const { home, server, heapMb } = settings;
    this.#keeper = new ThreadKeeper({ sourceDir, module, home, server }, heapMb);
  }

  /** Serves until the server orders the exit or is gone; returns the exit code of the process. */
  async run(): Promise<number> {
    try {
      const traceback = await Promise.race([this.#keeper.load(), this.#noServer()]);
      this.#loading = false;
      if (traceback === "no-server") return 1;
      if (this.#stops > 0) return 0;
      if (traceback !== null) {
        this.#settings.complain(`cannot import ${this.#settings.identity.module}:\n${traceback}`);
        await this.#api.failed(traceback).catch(() => undefined);
        return 1;
      }
      return await this.#serve();
    } finally {
      this.#api.close();
      await this.#keeper.close();
    }
  }

  /**
   * Ends the engine: at once if it is idle, else after its run. The engine asks the server whether that run is still wanted; a
   * second call stops the run.
   */
  stop(): void {
    this.#stops += 1;
    this.#idle.abort();
    // An import may never end.
    if (this.#loading) void this.#keeper.close();
    if (this.#stops === 1) this.#current?.check();
    else this.#current?.shutDown();
  }

  async #serve(): Promise<number> {
    while (this.#stops === 0) {
      const answer = await this.#poll();
      if (answer === "stopped") return 0;
      if (answer === "no-server") return 1;
      const item = answer.run ?? null;
      if (item !== null) await this.#execute(item);
      if (answer.exit === true || (item !== null && this.#settings.identity.isolated)) return 0;
    }
    return 0;
  }

  /**
   * The engine does not poll while it imports the module: settles when no server was reached for as long as an idle engine
   * waits.
   */
  async #noServer(): Promise<"no-server"> {
    const { giveUpMs, complain } = this.#settings;
    let reachedMs = performance.now();
    while (this.#loading) {
      await sleep(giveUpMs / LOADING_LOOKS, undefined, { ref: false });
      if (await this.#api.reachesServer()) reachedMs = performance.now();
      else if (performance.now() - reachedMs >= giveUpMs) {
        complain(`no server for ${giveUpMs / 1000} s while ${this.#settings.identity.module} was imported`);
        return "no-server";
      }
    }
    return await new Promise(() => undefined);
  }

  /** One answered poll; connection errors are retried until the server counts as gone. */
  async #poll(): Promise<WorkResponse | "stopped" | "no-server"> {
    const { signal } = this.#idle;
    let lostMs: number | null = null;
    let waitMs = FIRST_WAIT_MS;
    while (!signal.aborted) {
      try {
        return await this.#api.work(signal);
      } catch (error) {
        if (signal.aborted) break;
        const refused = error instanceof UnexpectedAnswer;
        if (refused) this.#settings.complain(`the poll for work was answered ${error.message}`);
        lostMs = refused ? null : (lostMs ?? performance.now());
        if (lostMs !== null && performance.now() - lostMs > this.#settings.giveUpMs) {
          this.#settings.complain(
            `no server for ${this.#settings.giveUpMs / 1000} s: ${error instanceof Error ? error.message : String(error)}`,
          );
          return "no-server";
        }
        await sleep(refused ? REFUSED_POLL_WAIT_MS : waitMs, undefined, { signal }).catch(() => undefined);
        waitMs = refused ? FIRST_WAIT_MS : Math.min(waitMs * 2, WAIT_MS_LONGEST);
      }
    }
    return "stopped";
  }

  async #execute(item: WorkItem): Promise<void> {
    const { graceMs, heartbeatMs, lostMs, complain } = this.#settings;
    const options = { graceMs, heartbeatMs, lostMs, complain };
    // Code left over from an earlier run may have ended the thread, and files may have changed; neither is a fault of this run.
    await this.#keeper.refresh();
    if ((item.kind ?? "run") !== "run") {
      await doJob(this.#api, this.#keeper, item, options).catch((error: unknown) =>
        complain(`job ${String(item.kind)}: ${String(error)}`),
      );
      return;
    }
    this.#current = new RunControl(this.#api, this.#keeper, item, options);
    await this.#current.execute();
    this.#current = null;
  }
}

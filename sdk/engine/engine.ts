/** The engine's main loop: imports its module, asks for work, and executes the runs it is given side by side. */
import { setTimeout as sleep } from "node:timers/promises";
import type { WorkItem } from "#protocol/records/engine";
import type { MillraceOptions } from "../client/index.ts";
import { Connection, type ServerAddress } from "./connection.ts";
import { ExchangeLoop } from "./exchange-loop.ts";
import { doJob } from "./jobs.ts";
import { FIRST_WAIT_MS, WAIT_MS_LONGEST } from "./retrying.ts";
import { RunControl } from "./run-control.ts";
import { type EngineIdentity, ServerApi, UnexpectedAnswer } from "./server-api.ts";
import { MEASURE_MS, SlotOffer } from "./slot-offer.ts";
import { ThreadKeeper } from "./thread-keeper.ts";

/** Delay before the next exchange after a refused one: refusals come at once, so repeating without a delay would be a tight loop. */
const REFUSED_WAIT_MS = 1_000;

export interface EngineSettings {
  identity: EngineIdentity;
  /** Read again after each lost connection. */
  address: () => ServerAddress;
  /** The same for user code. */
  server: MillraceOptions;
  home: string;
  /** Heap limit of the user thread in MB, null for the default. */
  heapMb: number | null;
  /** Runs at a time, at most. */
  slotsMax: number;
  /** How long the other runs of a thread may go on once code of an ended run lingers in it. */
  drainMs: number;
  graceMs: number;
  /** A run is given up after this long without a server. */
  lostMs: number;
  /** An idle engine exits after this long without a server. */
  giveUpMs: number;
  complain(text: string): void;
}

/** How often the engine looks for a server within the time after which it exits. */
const LOADING_LOOKS = 6;

/** The engine process: imports one module, then executes its runs. */
export class Engine {
  readonly #settings: EngineSettings;
  readonly #api: ServerApi;
  readonly #keeper: ThreadKeeper;
  readonly #loop: ExchangeLoop;
  readonly #offer: SlotOffer;
  readonly #idle = new AbortController();
  readonly #runs = new Set<RunControl>();
  /** Runs and jobs that were given and have not ended here. */
  #active = 0;
  #stops = 0;
  #loading = true;
  #refreshing: Promise<void> | null = null;

  constructor(settings: EngineSettings) {
    this.#settings = settings;
    this.#api = new ServerApi(settings.identity, (timeoutMs) => new Connection(settings.address, timeoutMs));
    const { sourceDir, module } = settings.identity;
    const { home, server, heapMb, lostMs } = settings;
    this.#keeper = new ThreadKeeper({ sourceDir, module, home, server }, heapMb);
    this.#offer = new SlotOffer(settings.identity.isolated ? 1 : settings.slotsMax);
    this.#loop = new ExchangeLoop(this.#api, {
      slots: (ending) => this.#slots(ending),
      given: (items) => {
        for (const item of items) void this.#execute(item);
      },
      lostMs,
    });
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
   * Ends the engine: at once if it is idle, else after its runs. The engine asks the server whether the runs are still wanted;
   * a second call stops the runs.
   */
  stop(): void {
    this.#stops += 1;
    if (this.#active === 0) this.#idle.abort();
    // An import may never end.
    if (this.#loading) void this.#keeper.close();
    if (this.#stops === 1) this.#loop.wake();
    else for (const run of this.#runs) run.shutDown();
  }

  async #serve(): Promise<number> {
    const { isolated } = this.#settings.identity;
    const measuring = setInterval(() => this.#measure(), MEASURE_MS);
    let isDone = false;
    try {
      while (!this.#idle.signal.aborted && !isDone) {
        const answer = await this.#exchange();
        if (answer === "stopped") return 0;
        if (answer === "no-server") return 1;
        const over = answer.exit || this.#stops > 0 || (isolated && this.#served > 0);
        isDone = over && this.#active === 0;
      }
      return 0;
    } finally {
      clearInterval(measuring);
    }
  }

  #served = 0;

  #slots(ending: number): number {
    const { isolated } = this.#settings.identity;
    const leaves = this.#stops > 0 || (isolated && this.#served > 0);
    if (leaves || (this.#active > 0 && this.#keeper.isOver)) return 0;
    return this.#offer.free(this.#active - ending);
  }

  #measure(): void {
    if (this.#active === 0) return;
    const before = this.#offer.offered;
    this.#offer.measured(this.#keeper.thread.utilization());
    if (this.#offer.offered > before) this.#loop.wake();
    void this.#keeper.endRetired(this.#settings.drainMs);
  }

  /**
   * The engine asks for no work while it imports the module: settles when no server was reached for as long as an idle engine
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

  /** One answered exchange; connection errors are retried until the server counts as gone. */
  async #exchange(): Promise<{ exit: boolean } | "stopped" | "no-server"> {
    const { signal } = this.#idle;
    const { giveUpMs, lostMs, complain } = this.#settings;
    let waitMs = FIRST_WAIT_MS;
    for (let failedMs: number | null = null; !signal.aborted; ) {
      try {
        return await this.#loop.next(signal);
      } catch (error) {
        if (signal.aborted) break;
        const refused = error instanceof UnexpectedAnswer;
        if (refused) complain(`an exchange was answered ${error.message}`);
        failedMs = refused ? null : (failedMs ?? performance.now());
        const withoutMs = performance.now() - Math.max(failedMs ?? performance.now(), this.#loop.reachedMs);
        if (withoutMs > lostMs) this.#loop.lose();
        if (withoutMs > giveUpMs && this.#active === 0) {
          complain(`no server for ${giveUpMs / 1000} s: ${error instanceof Error ? error.message : String(error)}`);
          return "no-server";
        }
        await sleep(refused ? REFUSED_WAIT_MS : waitMs, undefined, { signal }).catch(() => undefined);
        waitMs = refused ? FIRST_WAIT_MS : Math.min(waitMs * 2, WAIT_MS_LONGEST);
      }
    }
    return "stopped";
  }

  async #execute(item: WorkItem): Promise<void> {
    const { graceMs, lostMs, complain } = this.#settings;
    const options = { graceMs, lostMs, complain };
    const isRun = (item.kind ?? "run") === "run";
    this.#active += 1;
    this.#served += 1;
    try {
      if (!(await this.#isReady())) {
        if (isRun) await this.#loop.giveBack(item);
        return;
      }
      if (!isRun) return await this.#doJob(item, options);
      const control = new RunControl(this.#loop, this.#keeper, item, options);
      this.#runs.add(control);
      await control.execute();
      this.#runs.delete(control);
    } finally {
      this.#active -= 1;
      this.#loop.wake();
    }
  }

  async #doJob(item: WorkItem, options: { graceMs: number; lostMs: number; complain(text: string): void }): Promise<void> {
    await doJob(this.#api, this.#loop, this.#keeper, item, options).catch((error: unknown) =>
      options.complain(`job ${String(item.kind)}: ${String(error)}`),
    );
  }

  /**
   * Code left over from an earlier run may have ended the thread, and files may have changed: the thread is replaced if no run
   * uses it. False if runs use it: then the new run goes back to the queue.
   */
  async #isReady(): Promise<boolean> {
    await this.#refreshing;
    if (!this.#keeper.isOver) return true;
    if (this.#keeper.thread.alive && this.#keeper.thread.runs > 0) return false;
    this.#refreshing ??= this.#keeper.refresh().finally(() => {
      this.#refreshing = null;
      this.#offer.reset();
    });
    await this.#refreshing;
    return true;
  }
}

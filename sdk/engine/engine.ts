/** The engine's main loop: imports its module, asks for work, and executes the runs it is given side by side. */
import { setTimeout as sleep } from "node:timers/promises";
import type { WorkItem } from "#protocol/records/engine";
import type { MillraceOptions } from "../client/index.ts";
import type { SpanExport } from "../tracing/span-export.ts";
import { Tracer, type TraceSettings } from "../tracing/tracer.ts";
import { Connection, type ServerAddress } from "./connection.ts";
import { ExchangeLoop } from "./exchange-loop.ts";
import { doJob } from "./jobs.ts";
import { MemoryGrowth } from "./memory-growth.ts";
import { FIRST_WAIT_MS, WAIT_MS_LONGEST } from "./retrying.ts";
import { RunControl } from "./run-control.ts";
import { RunMap } from "./run-map.ts";
import { type EngineIdentity, ServerApi, UnexpectedAnswer } from "./server-api.ts";
import { BUSY_ABOVE, MEASURE_MS, SlotOffer } from "./slot-offer.ts";
import { StartGate } from "./start-gate.ts";
import { ThreadKeeper } from "./thread-keeper.ts";

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
  /** An engine is replaced when its code holds so many MB more than after its first runs; 0: never. */
  growthMb: number;
  /** How long the other runs of a thread may go on once code of an ended run lingers in it. */
  drainMs: number;
  graceMs: number;
  /** A run is given up after this long without a server. */
  lostMs: number;
  /** An idle engine exits after this long without a server. */
  giveUpMs: number;
  /** Null: the engine records no traces. */
  traces: TraceSettings | null;
  complain(text: string): void;
}

/** Records the traces of runs. */
interface TraceExport {
  spans: SpanExport;
  tracer: Tracer;
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
  readonly #gate: StartGate;
  readonly #growth: MemoryGrowth<RunControl>;
  readonly #idle = new AbortController();
  #traces: TraceExport | null = null;
  /** By a number of their own: a run may come back while its former control ends. */
  readonly #runs = new RunMap<RunControl>();
  #controls = 0;
  #measuring: NodeJS.Timeout | null = null;
  #measuredMs = 0;
  /** Runs whose function was called and that have not ended. */
  readonly #executing = new Set<number>();
  /** Runs and jobs that were given and have not ended here. */
  #active = 0;
  /** Those of them that use the thread. */
  #begun = 0;
  #served = 0;
  /** Runs that have ended in the present thread. */
  #endedHere = 0;
  /** Why the server is asked to replace this engine. */
  #replace: string | null = null;
  #stops = 0;
  #exit = false;
  /** The server knows that the thread is blocked. */
  #wasBlocked = false;
  #loading = true;
  /** The thread is replaced while no run uses it. */
  #refreshing: Promise<void> | null = null;
  /** A file has changed: the runs in the thread end on the code they began with, and no run begins before that. */
  #draining = false;
  #complained = "";

  constructor(settings: EngineSettings) {
    this.#settings = settings;
    const { sourceDir, module, isolated } = settings.identity;
    const { home, server, heapMb, lostMs, slotsMax, growthMb } = settings;
    this.#api = new ServerApi(settings.identity, (timeoutMs) => new Connection(settings.address, timeoutMs), lostMs);
    this.#keeper = new ThreadKeeper({ sourceDir, module, home, server, traces: settings.traces !== null }, heapMb);
    this.#offer = new SlotOffer(isolated ? 1 : slotsMax);
    this.#gate = new StartGate({
      most: slotsMax,
      turn: () => this.#keeper.thread.turn(),
      endedMs: () => this.#keeper.thread.endedMs,
      changed: () => this.#gateChanged(),
    });
    this.#growth = new MemoryGrowth(growthMb);
    this.#loop = new ExchangeLoop(this.#api, {
      slots: (ending) => this.#slots(ending),
      blockedMs: () => this.#gate.blockedMs,
      given: (items) => void this.#take(items),
      replace: () => this.#replace,
      spans: () => this.#traces?.spans.counts,
    });
  }

  /** Serves until the server orders the exit or is gone; returns the exit code of the process. */
  async run(): Promise<number> {
    try {
      const traceback = await Promise.race([this.#keeper.load(), this.#noServer()]);
      this.#loading = false;
      if (traceback === "no-server") return 1;
      this.#traces = await this.#openTraces();
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
      await this.#traces?.spans.close();
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
    if (this.#loading || (this.#refreshing !== null && this.#stops > 1)) void this.#keeper.close();
    if (this.#stops === 1) this.#loop.wake();
    else for (const run of this.#runs.values()) run.shutDown();
  }

  async #openTraces(): Promise<TraceExport | null> {
    const { traces, identity, complain } = this.#settings;
    if (traces === null) return null;
    const { SpanExport } = await import("../tracing/span-export.ts");
    const spans = new SpanExport({ endpoint: traces.endpoint, engineId: identity.engineId, complain });
    return { spans, tracer: new Tracer(spans, traces.sampleRatio) };
  }

  async #serve(): Promise<number> {
    this.#measuring = setInterval(() => this.#measure(), MEASURE_MS);
    try {
      while (!this.#idle.signal.aborted && !(this.#isLeaving && this.#active === 0)) {
        const answer = await this.#exchange();
        if (answer === "stopped") return 0;
        if (answer === "no-server") return 1;
        this.#exit ||= answer.exit;
      }
      return 0;
    } finally {
      clearInterval(this.#measuring);
    }
  }

  /** The engine takes no further run, and ends when its runs have ended. */
  get #isLeaving(): boolean {
    return this.#exit || this.#stops > 0 || (this.#settings.identity.isolated && this.#served > 0);
  }

  #slots(ending: number): number {
    const drains = this.#begun > 0 && (this.#draining || this.#keeper.isRetired);
    return this.#isLeaving || drains || this.#gate.isHeld ? 0 : this.#offer.free(this.#active - ending);
  }

  /** Ends a window of measuring. The thread says nothing about runs while it is idle or new. */
  #measure(): void {
    const { thread } = this.#keeper;
    const utilization = thread.utilization();
    if (this.#active === 0 || this.#refreshing !== null || !thread.alive) return;
    if (utilization > BUSY_ABOVE) this.#gate.look();
    const before = this.#offer.offered;
    this.#offer.measured(utilization, performance.now() - this.#measuredMs, this.#active);
    this.#measuredMs = performance.now();
    if (this.#offer.offered > before) this.#loop.freed();
    void this.#keeper.endRetired(this.#settings.drainMs);
    if (this.#replace !== null) return;
    this.#replace = this.#growth.look(this.#keeper.gauges.memoryHeld, new Set(this.#runs.values()), this.#endedHere > 0);
    if (this.#replace !== null) this.#loop.wake();
  }

  /** A held thread takes no further runs, also those that a waiting exchange still asks for; afterwards it may. */
  #gateChanged(): void {
    const { isHeld, blockedMs } = this.#gate;
    if (blockedMs !== null || this.#wasBlocked || (isHeld && this.#loop.free > 0)) this.#loop.wake();
    else if (!isHeld) this.#loop.freed();
    this.#wasBlocked = blockedMs !== null;
  }

  /** Begins a window of measuring. */
  #restartMeasuring(): void {
    this.#keeper.thread.utilization();
    this.#measuredMs = performance.now();
    this.#measuring?.refresh();
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

  /** One answered exchange; failed ones are followed by another until the server counts as gone. */
  async #exchange(): Promise<{ exit: boolean } | "stopped" | "no-server"> {
    const { signal } = this.#idle;
    const { giveUpMs, lostMs, complain } = this.#settings;
    let waitMs = FIRST_WAIT_MS;
    let failedMs: number | null = null;
    while (!signal.aborted) {
      try {
        const answer = await this.#loop.next(signal);
        this.#complained = "";
        return answer;
      } catch (error) {
        if (signal.aborted) break;
        failedMs ??= performance.now();
        const withoutMs = performance.now() - Math.max(failedMs, this.#loop.reachedMs);
        if (withoutMs > lostMs) this.#loop.lose();
        if (error instanceof UnexpectedAnswer) this.#complainOnce(`an exchange was answered ${error.message}`);
        else if (withoutMs > giveUpMs && this.#active === 0) {
          complain(`no server for ${giveUpMs / 1000} s: ${error instanceof Error ? error.message : String(error)}`);
          return "no-server";
        }
        await sleep(waitMs, undefined, { signal }).catch(() => undefined);
        waitMs = Math.min(waitMs * 2, WAIT_MS_LONGEST);
      }
    }
    return "stopped";
  }

  /** A server that does not answer as it should does so for every exchange. */
  #complainOnce(text: string): void {
    if (text !== this.#complained) this.#settings.complain(text);
    this.#complained = text;
  }

  /**
   * Begins the given runs and jobs. If files have changed, the thread is replaced, unless runs use it: then the new runs go
   * back to the queue. A job takes the thread as it is.
   */
  async #take(items: readonly WorkItem[]): Promise<void> {
    if (this.#active === 0) this.#restartMeasuring();
    this.#active += items.length;
    this.#served += items.length;
    this.#offer.holds(this.#active);
    const { alive } = this.#keeper.thread;
    if (this.#refreshing !== null) await this.#refreshing;
    else if (this.#begun > 0) this.#draining ||= alive && this.#keeper.isOver;
    else if (!alive || this.#keeper.isOver) await this.#refresh();
    for (const item of items) {
      if (isRun(item) && this.#draining) void this.#giveBack(item);
      else void this.#execute(item);
    }
  }

  async #refresh(): Promise<void> {
    this.#refreshing = this.#keeper.refresh().finally(() => {
      this.#refreshing = null;
    });
    await this.#refreshing;
    this.#offer.reset(this.#active);
    this.#growth.reset();
    this.#endedHere = 0;
    this.#restartMeasuring();
  }

  /** The other runs of the thread may go on for long, so the server is asked for another engine. */
  async #giveBack(item: WorkItem): Promise<void> {
    this.#replace ??= this.#keeper.isRetired
      ? "code of an ended run goes on in it"
      : "a file of its flows has changed while runs execute";
    await this.#loop.giveBack(item);
    this.#active -= 1;
    this.#loop.wake();
  }

  async #execute(item: WorkItem): Promise<void> {
    const { graceMs, lostMs, complain } = this.#settings;
    const { run_id: run, project, flow } = item;
    const options = { graceMs, lostMs, complain, called: () => this.#called(run), tracer: this.#traces?.tracer };
    this.#begun += 1;
    let isBack = false;
    try {
      await this.#keeper.ready();
      // The order to end at once came while the thread was replaced.
      isBack = isRun(item) && (this.#stops > 1 || !(await this.#gate.enter(run, `${project}/${flow}`)));
      if (isBack) await this.#handBack(item);
      else if (isRun(item)) await this.#control(new RunControl(this.#loop, this.#keeper, item, options));
      else await doJob(this.#api, this.#loop, this.#keeper, item, options);
    } catch (error) {
      complain(`${item.kind ?? "run"} ${item.run_id}: ${String(error)}`);
    } finally {
      this.#gate.leave(run);
      this.#executing.delete(run);
      this.#begun -= 1;
      this.#active -= 1;
      this.#endedHere += 1;
      if (isRun(item) && !isBack) this.#ended();
      if (this.#begun === 0) {
        this.#draining = false;
        // Nothing waits for the code that goes on.
        void this.#keeper.endRetired(0);
      }
      // An engine that leaves ends after its last run; otherwise the slot of the run is free.
      if (this.#isLeaving) this.#loop.wake();
      else this.#loop.freed();
    }
  }

  /** The thread is held, and another engine may begin the run at once; or this engine ends. */
  async #handBack(item: WorkItem): Promise<void> {
    this.#offer.handedBack(this.#gate.inside);
    await this.#loop.giveBack(item);
  }

  /** The time in which a run was given and not yet called says nothing about how the run uses the thread. */
  #called(run: number): void {
    this.#gate.called(run);
    if (this.#executing.size === 0 && this.#offer.endedInWindow === 0) this.#restartMeasuring();
    this.#executing.add(run);
  }

  /** A run that was begun has ended, which may end the window of measuring. */
  #ended(): void {
    if (!this.#offer.ended(performance.now() - this.#measuredMs)) return;
    this.#measure();
    this.#measuring?.refresh();
  }

  async #control(run: RunControl): Promise<void> {
    this.#controls += 1;
    const number = this.#controls;
    this.#runs.set(number, run);
    try {
      await run.execute();
    } finally {
      this.#runs.delete(number);
    }
  }
}

function isRun({ kind = "run" }: WorkItem): boolean {
  return kind === "run";
}

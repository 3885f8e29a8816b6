/** The durable side of one attempt of a run: its stored steps, its waits, and when the run leaves its engine. */
import type { NewWait, Wait, WaitOutcome } from "#protocol/records/durable";
import { untilAborted } from "../execution/abortable.ts";
import type { Clock } from "../execution/clock.ts";
import type { ReportItem } from "../execution/report-item.ts";
import type { DurableFacts, DurableServices, StepsStored } from "./durable-services.ts";
import { type Caller, rootCaller } from "./identity.ts";
import { OpenWaits } from "./open-waits.ts";
import { OutcomeOrder } from "./outcome-order.ts";
import { StoredSteps } from "./stored-steps.ts";
import { isParked, never, Parked } from "./suspension.ts";

/** A run that only waits leaves its engine after this time without activity, because code between two steps may still run. */
const QUIET_MS = 20;

/**
 * The same delay, as a multiple of the time that reading the stored steps and waits took: if many children are under way,
 * several may end while the run is still in its engine.
 */
const QUIET_PER_LOAD = 4;
const QUIET_MS_MAX = 1_000;

/** The waits for which a run leaves its engine. */
export interface Park {
  waits: string[];
  /** The run keeps its resources. */
  hold: boolean;
}

export interface DurableRunPort {
  facts: DurableFacts;
  services: DurableServices;
  controller: AbortController;
  clock: Clock;
  home: string;
  runId: number;
  attempt: number;
  report(item: ReportItem): void;
  warn(text: string): void;
  /** Where the run is traced: a wait is over. Times are microseconds by the clock of the server. */
  waited(name: string, kind: string, fromUs: number, toUs: number): void;
  /** Aborts the signal of the run, in the scope of the run. */
  abort(reason: unknown): void;
}

export class DurableRun {
  readonly facts: DurableFacts;
  readonly runId: number;
  /** The flow's function. */
  readonly root: Caller = rootCaller();
  readonly steps: StoredSteps;
  readonly #waits: OpenWaits;
  readonly #port: DurableRunPort;
  readonly #order = new OutcomeOrder();
  /** News for which the waits are to be read. */
  #news: Pick<StepsStored, "settledWait"> | null = null;
  #isReading = false;
  /** The wait that had been settled last when the waits were read. */
  #readUntil: number | undefined = 0;
  /** Tasks, steps and requests under way. */
  #busy = 0;
  #quiet: AbortController | null = null;
  #parked: Park | null = null;
  #closed = false;
  #quietMs = QUIET_MS;

  constructor(port: DurableRunPort) {
    const { facts, services, clock } = port;
    this.#port = port;
    this.facts = facts;
    this.runId = port.runId;
    const order = this.#order;
    this.steps = new StoredSteps({ ...port, lineageId: facts.lineageId, order });
    const changed = () => this.#changed();
    const stepsTold = () => this.steps.told();
    const over = ({ name, kind, created_at, settled_at }: Wait) => port.waited(name, kind, created_at, settled_at ?? created_at);
    this.#waits = new OpenWaits({ services, clock, parkAfterSecs: facts.parkAfterSecs, order, changed, over, stepsTold });
    const { signal } = port.controller;
    signal.addEventListener("abort", () => this.#stopped(signal.reason), { once: true });
  }

  /** Set once the run leaves its engine. */
  get parked(): Park | null {
    return this.#parked;
  }

  /**
   * Reads the stored steps and waits of the run. An attempt that follows another one in this engine finds what the earlier
   * attempt has added.
   */
  async load(): Promise<void> {
    const { facts, attempt } = this.#port;
    const fromMs = performance.now();
    await Promise.all([
      facts.steps > 0 || attempt > 1 ? this.steps.load() : undefined,
      facts.waits > 0 || attempt > 1 ? this.#waits.load() : undefined,
    ]);
    this.#quietMs = Math.min(Math.max(QUIET_MS, QUIET_PER_LOAD * (performance.now() - fromMs)), QUIET_MS_MAX);
  }

  /** A task or step begins; call the returned function at its end. */
  enter(): () => void {
    this.#busy += 1;
    this.#changed();
    return () => {
      this.#busy -= 1;
      this.#changed();
    };
  }

  /** Arms a wait. Code of a run that has left its engine waits for ever. */
  async arm(wait: NewWait, flow?: object): Promise<Wait> {
    if (this.#parked !== null) return await never();
    this.#checkStopped();
    return await this.#whileHere(this.#waits.arm(wait, flow));
  }

  /** Where the server is reached. */
  address(): Promise<string> {
    return this.#whileHere(this.#port.services.address());
  }

  /** The outcome of an armed wait. While it is open the run may leave its engine: then the promise stays open. */
  async outcome(wait: Wait, hold = false): Promise<WaitOutcome> {
    if (this.#parked !== null) return await never();
    this.#checkStopped();
    return await this.#whileHere(this.#waits.outcome(wait, hold));
  }

  /**
   * Steps are committed, or never will be. Outcomes of waits that the server stored before them arrive first, because a flow
   * that begins again gets them in this order.
   */
  settled({ identities, error, appliedAt, settledWait }: StepsStored): void {
    const [only] = identities;
    if (error !== null) return this.steps.fail(identities, error);
    const hasNews = this.#hasNews(settledWait);
    if (!hasNews && this.#order.isIdle && only !== undefined && identities.length === 1) return this.steps.settle(only);
    void this.steps.settleInOrder(identities, appliedAt);
    if (!hasNews) return;
    this.#news = { settledWait };
    if (!this.#isReading) void this.#order.during(() => this.#readWaits());
  }

  async #readWaits(): Promise<void> {
    this.#isReading = true;
    for (let news = this.#news; news !== null; news = this.#news) {
      this.#news = null;
      this.#readUntil = news.settledWait;
      try {
        await this.#waits.catchUp();
      } catch {
        // The steps are stored, although the server cannot be asked.
        this.#readUntil = undefined;
      }
    }
    this.#isReading = false;
  }

  /** Whether waits may have settled that the engine has not read. */
  #hasNews(settledWait: number | undefined): boolean {
    return (settledWait === undefined || settledWait !== this.#readUntil) && this.#waits.mayHaveSettled;
  }

  /** Waits within the engine, and stores the wait as a step, so that a flow that begins again does not repeat it. */
  async waitHere(seconds: number, call: { identity: string; place: string; name: string }): Promise<void> {
    const step = { ...call, onChange: "run" as const };
    if ((await this.steps.find(step)) !== null) return;
    // As a task would: a run that waits for less than the threshold does not leave its engine.
    const leave = this.enter();
    const { signal } = this.#port.controller;
    const fromUs = this.#port.clock.nowUs();
    try {
      await this.#whileHere(this.#port.clock.sleep(seconds * 1_000, signal));
      this.#port.waited(call.name, "sleep", fromUs, this.#port.clock.nowUs());
      const committed = this.steps.commit(step, null, await this.steps.prepare(undefined));
      await this.#whileHere(untilAborted(signal, committed));
    } finally {
      leave();
    }
  }

  /** The attempt is over. */
  close(): void {
    this.#closed = true;
    this.#quiet?.abort();
    this.#quiet = null;
    this.#waits.close();
  }

  /** A promise of code that must not notice that the run leaves its engine. */
  async #whileHere<T>(promise: Promise<T>): Promise<T> {
    try {
      return await promise;
    } catch (error) {
      if (isParked(error)) return await never();
      throw error;
    }
  }

  #checkStopped(): void {
    const { signal } = this.#port.controller;
    if (!isParked(signal.reason)) signal.throwIfAborted();
  }

  #stopped(reason: unknown): void {
    if (this.#parked === null) this.#waits.fail(reason);
    this.close();
  }

  #changed(): void {
    this.#quiet?.abort();
    this.#quiet = null;
    if (this.#busy > 0 || this.#closed || !this.#waits.areLong) return;
    const quiet = new AbortController();
    this.#quiet = quiet;
    this.#port.clock.sleep(this.#quietMs, quiet.signal).then(
      () => this.#park(),
      () => undefined,
    );
  }

  #park(): void {
    if (this.#closed) return;
    this.#parked = { waits: this.#waits.open, hold: this.#waits.holds };
    this.#port.abort(new Parked("the run waits outside its engine"));
  }
}

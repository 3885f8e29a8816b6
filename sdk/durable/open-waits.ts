/** The waits of one attempt of a durable run: armed at the server, and open while the flow waits for their outcome. */
import { WAITS_MAX } from "#protocol/limits";
import type { NewWait, Wait, WaitOutcome } from "#protocol/records/durable";
import type { Clock } from "../execution/clock.ts";
import type { DurableServices } from "./durable-services.ts";
import type { OutcomeOrder, StoredAt } from "./outcome-order.ts";

/** Delays between two reads of the open waits while the run stays in its engine. */
const LOOK_MS_FIRST = 250;
const LOOK_MS_MAX = 2_000;

/** The server settles a wait at its due time; the engine reads the outcome this much later. */
const DUE_MARGIN_MS = 30;

/** A wait whose outcome the flow waits for. */
interface OpenWait {
  wait: Wait;
  hold: boolean;
  /** The outcome has been read. */
  isArriving: boolean;
  settle(outcome: WaitOutcome): void;
  fail(error: unknown): void;
  result: Promise<WaitOutcome>;
}

/** A wait on its way to the server. */
interface Arming {
  wait: NewWait;
  /** The flow of a child. */
  flow: object | undefined;
  resolve(wait: Wait): void;
  reject(error: unknown): void;
}

export interface WaitsPort {
  services: DurableServices;
  clock: Clock;
  parkAfterSecs: number;
  order: OutcomeOrder;
  /** A wait was armed, opened or settled. */
  changed(): void;
  /** The flow has the outcome of a wait, also when the flow has begun again since. */
  over(wait: Wait): void;
  /** Resolves when the engine knows what became of the steps that are reported now. */
  stepsTold(): Promise<void>;
}

export class OpenWaits {
  readonly #port: WaitsPort;
  readonly #known = new Map<string, Wait>();
  readonly #arming = new Map<string, Promise<Wait>>();
  readonly #queue: Arming[] = [];
  readonly #open = new Map<string, OpenWait>();
  #look: (() => void) | null = null;
  #lookMs = LOOK_MS_FIRST;
  #looking = false;
  #closed = false;

  constructor(port: WaitsPort) {
    this.#port = port;
  }

  /** Reads the waits of the run, at the begin of the attempt. */
  async load(): Promise<void> {
    for (const wait of await this.#port.services.waits(0)) this.#known.set(wait.identity, wait);
  }

  /** Waits that the flow waits for. */
  get open(): string[] {
    return [...this.#open.keys()];
  }

  /** Whether one of them keeps the resources of the run. */
  get holds(): boolean {
    return [...this.#open.values()].some(({ hold }) => hold);
  }

  /** Whether the run may leave its engine: every open wait is long, and each is armed. */
  get areLong(): boolean {
    if (this.#open.size === 0 || this.#arming.size > 0) return false;
    const limitUs = this.#port.clock.nowUs() + this.#port.parkAfterSecs * 1_000_000;
    for (const { wait } of this.#open.values()) if (wait.due != null && wait.due <= limitUs) return false;
    return true;
  }

  /** Whether the server may have an outcome that the engine has not read. */
  get mayHaveSettled(): boolean {
    if (this.#arming.size > 0) return true;
    const nowUs = this.#port.clock.nowUs() + DUE_MARGIN_MS * 1_000;
    for (const { wait } of this.#open.values()) if (wait.kind !== "sleep" || (wait.due ?? 0) <= nowUs) return true;
    return false;
  }

  /** The wait as the server has it; those of one turn are armed by one request. @throws MillraceError */
  arm(wait: NewWait, flow?: object): Promise<Wait> {
    const known = this.#known.get(wait.identity);
    // The list of waits has no URLs: the answer to a repeated request has.
    if (known !== undefined && (known.kind !== "callback" || known.url != null)) return Promise.resolve(known);
    const under = this.#arming.get(wait.identity);
    if (under !== undefined) return under;
    const armed = new Promise<Wait>((resolve, reject) => this.#queue.push({ wait, flow, resolve, reject }));
    if (this.#queue.length === 1) void this.#port.order.during(() => this.#armQueue());
    const done = () => {
      this.#arming.delete(wait.identity);
      this.#port.changed();
    };
    this.#arming.set(wait.identity, armed);
    armed.then(done, done);
    return armed;
  }

  /** The outcome of an armed wait. From now on it is open: the flow waits for it. */
  async outcome(wait: Wait, hold: boolean): Promise<WaitOutcome> {
    const known = this.#known.get(wait.identity) ?? wait;
    if (known.outcome != null) {
      this.#port.over(known);
      return await this.#port.order.turn(storedAt(known), Promise.resolve(known.outcome));
    }
    const open = this.#open.get(wait.identity) ?? this.#opened(known, hold);
    open.hold ||= hold;
    this.#port.changed();
    this.#lookSoon();
    return await open.result;
  }

  /** The run is stopped. */
  fail(reason: unknown): void {
    this.close();
    this.#failOpen(reason);
    for (const { reject } of this.#queue.splice(0)) reject(reason);
  }

  /** The attempt is over. */
  close(): void {
    this.#closed = true;
    this.#look?.();
    this.#look = null;
  }

  #failOpen(reason: unknown): void {
    for (const { fail } of this.#open.values()) fail(reason);
    this.#open.clear();
  }

  #opened(wait: Wait, hold: boolean): OpenWait {
    const { promise: result, resolve, reject } = Promise.withResolvers<WaitOutcome>();
    result.catch(() => undefined);
    const open: OpenWait = { wait, hold, isArriving: false, result, settle: resolve, fail: reject };
    this.#open.set(wait.identity, open);
    return open;
  }

  /** Reads what the server has settled by now, also of the waits that are on their way. */
  async catchUp(): Promise<void> {
    await Promise.allSettled(this.#arming.values());
    await this.#readSettled();
  }

  async #armQueue(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    // One request arms the waits that follow outcomes which were stored at once.
    await this.#port.order.arrived();
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, WAITS_MAX);
      if (!(await this.#armAll(batch))) for (const each of batch) await this.#armAll([each]);
      if (batch.some(({ wait }) => this.#known.get(wait.identity)?.outcome != null)) await this.#bringEarlier();
    }
  }

  /** What was stored before a wait that was settled as soon as it was armed has to arrive before it. */
  async #bringEarlier(): Promise<void> {
    await this.#readSettled().catch(() => undefined);
    await this.#port.stepsTold();
  }

  /** False if several were refused as a whole: one of them may be the cause. */
  async #armAll(batch: readonly Arming[]): Promise<boolean> {
    try {
      const flows = new Map(batch.flatMap(({ wait, flow }) => (flow === undefined ? [] : [[wait.identity, flow]])));
      const armed = await this.#port.services.arm(
        batch.map(({ wait }) => wait),
        flows,
      );
      for (const [index, { resolve, reject }] of batch.entries()) {
        const wait = armed[index];
        if (wait === undefined) reject(new Error("the server did not answer for this wait"));
        else {
          this.#known.set(wait.identity, wait);
          resolve(wait);
        }
      }
      return true;
    } catch (error) {
      if (batch.length > 1) return false;
      for (const { reject } of batch) reject(error);
      return true;
    }
  }

  /** Reads the waits that had no outcome; outcomes for which the flow waits arrive in their order. */
  async #readSettled(): Promise<void> {
    const oldest = this.#oldest();
    if (oldest === null) return;
    await this.#port.order.during(async () => {
      const settled = (await this.#port.services.waits(oldest - 1)).filter((wait) => this.#note(wait));
      // Some of the steps may have been stored before these waits were settled.
      if (settled.length > 0) await this.#port.stepsTold();
    });
  }

  /** Id of the oldest wait without an outcome, also if the flow has not asked for the outcome yet. */
  #oldest(): number | null {
    const open = [...this.#open.values()].map(({ wait }) => wait.id);
    const armed = [...this.#known.values()].filter(({ outcome }) => outcome == null).map(({ id }) => id);
    const ids = [...open, ...armed];
    return ids.length === 0 ? null : ids.reduce((oldest, id) => Math.min(oldest, id));
  }

  /** Reads the open waits later, and at once when a wait is due. */
  #lookSoon(): void {
    if (this.#closed || this.#looking || this.#open.size === 0) return;
    this.#look?.();
    const nowUs = this.#port.clock.nowUs();
    let ms = this.#lookMs;
    for (const { wait } of this.#open.values()) {
      if (wait.due != null) ms = Math.min(ms, Math.max(0, (wait.due - nowUs) / 1_000) + DUE_MARGIN_MS);
    }
    this.#look = this.#port.clock.after(ms, () => void this.#lookNow());
  }

  async #lookNow(): Promise<void> {
    this.#look = null;
    this.#looking = true;
    try {
      await this.#readSettled();
    } catch (error) {
      // A run that is stopped or parked ends the request too; what its flow waits for has been settled.
      if (!this.#closed) this.#failOpen(error);
    } finally {
      this.#looking = false;
      this.#lookMs = Math.min(this.#lookMs * 2, LOOK_MS_MAX);
      this.#lookSoon();
    }
  }

  /** Whether the flow waits for the outcome of this wait, which had none before. The outcome arrives in its order. */
  #note(wait: Wait): boolean {
    const { identity, outcome } = wait;
    if (outcome == null) return false;
    this.#known.set(wait.identity, wait);
    const open = this.#open.get(identity);
    if (open === undefined || open.isArriving) return false;
    open.isArriving = true;
    this.#lookMs = LOOK_MS_FIRST / 2;
    void this.#port.order.turn(storedAt(wait), Promise.resolve()).then(() => {
      if (!this.#open.delete(identity)) return;
      this.#port.over(wait);
      open.settle(outcome);
      this.#port.changed();
    });
    return true;
  }
}

function storedAt({ id, settled_at }: Wait): StoredAt {
  return { atUs: settled_at ?? 0, kind: "wait", id };
}

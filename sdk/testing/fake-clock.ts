import type { Clock } from "../execution/clock.ts";

interface Alarm {
  dueUs: number;
  order: number;
  run: () => void;
  /** The alarm of a sleep: time may jump to it. */
  slept: boolean;
}

/** Start of simulated time: 2026-01-01T00:00:00Z. */
const START_US = 1_767_225_600_000_000;

/**
 * Simulated time for tests. Delays between retries take no real time: when no other code is ready, time jumps to the end of the
 * next delay. Time limits are reached only when such a delay, or `advance`, passes them; real I/O takes no simulated time.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, sleep } from "millrace";
 * import { FakeClock, runFlow } from "millrace/testing";
 *
 * const reminder = flow("reminder", { durable: true }, async () => await sleep("3d"));
 *
 * const clock = new FakeClock();
 * const beginUs = clock.nowUs();
 * await runFlow(reminder, {}, { clock });
 * assert.ok(clock.nowUs() - beginUs >= 3 * 24 * 3_600_000_000);
 * ```
 */
export class FakeClock implements Clock {
  #nowUs: number;
  #order = 0;
  readonly #alarms = new Set<Alarm>();
  #jumping = false;

  constructor(startUs = START_US) {
    this.#nowUs = startUs;
  }

  /** Every reading is a microsecond later than the last, so that the order of records is visible. */
  nowUs(): number {
    this.#nowUs += 1;
    return this.#nowUs;
  }

  /** Resolves when simulated time has passed by `ms`; rejects when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = () => {
        this.#alarms.delete(alarm);
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      const alarm = this.#arm(ms, wake, true);
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#jumpWhenIdle();
    });
  }

  /** Calls `run` when simulated time has passed by `ms`, unless the function that it returns was called before. */
  after(ms: number, run: () => void): () => void {
    const alarm = this.#arm(ms, run, false);
    return () => this.#alarms.delete(alarm);
  }

  /** Advances time and runs everything that falls due, in order. */
  advance(ms: number): void {
    const untilUs = this.#nowUs + ms * 1000;
    for (let next = this.#next(); next !== undefined && next.dueUs <= untilUs; next = this.#next()) this.#fire(next);
    this.#nowUs = Math.max(this.#nowUs, untilUs);
  }

  #arm(ms: number, run: () => void, slept: boolean): Alarm {
    this.#order += 1;
    const alarm: Alarm = { dueUs: this.#nowUs + Math.max(0, ms) * 1000, order: this.#order, run, slept };
    this.#alarms.add(alarm);
    return alarm;
  }

  #next(): Alarm | undefined {
    let next: Alarm | undefined;
    for (const alarm of this.#alarms) {
      if (next === undefined || alarm.dueUs < next.dueUs || (alarm.dueUs === next.dueUs && alarm.order < next.order))
        next = alarm;
    }
    return next;
  }

  #fire(alarm: Alarm): void {
    this.#alarms.delete(alarm);
    this.#nowUs = Math.max(this.#nowUs, alarm.dueUs);
    alarm.run();
  }

  /** Once ready code has run, fires alarms in order up to the first one of a sleep. */
  #jumpWhenIdle(): void {
    if (this.#jumping) return;
    this.#jumping = true;
    setImmediate(() => {
      this.#jumping = false;
      if (![...this.#alarms].some((alarm) => alarm.slept)) return;
      for (let next = this.#next(); next !== undefined; next = this.#next()) {
        this.#fire(next);
        if (next.slept) break;
      }
      this.#jumpWhenIdle();
    });
  }
}

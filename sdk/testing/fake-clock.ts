import type { Clock } from "../clock.ts";

interface Alarm {
  dueUs: number;
  order: number;
  run: () => void;
  /** Somebody does nothing but wait for it, so time may jump to it. */
  slept: boolean;
}

/** Where simulated time begins: 2026-01-01T00:00:00Z. */
const START_US = 1_767_225_600_000_000;

/**
 * Simulated time for tests. Waits between retries take no real time: when nothing else goes on, time jumps to the end
 * of the next wait. Time limits are met only when such a wait, or `advance`, passes them; real I/O takes no simulated time.
 */
export class FakeClock implements Clock {
  #nowUs: number;
  #order = 0;
  readonly #alarms = new Set<Alarm>();
  #jumping = false;

  constructor(startUs = START_US) {
    this.#nowUs = startUs;
  }

  /** Every reading is a microsecond later than the one before, so that the order of what happened can be seen. */
  nowUs(): number {
    this.#nowUs += 1;
    return this.#nowUs;
  }

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

  after(ms: number, run: () => void): () => void {
    const alarm = this.#arm(ms, run, false);
    return () => this.#alarms.delete(alarm);
  }

  /** Lets time pass: everything that falls due is run in order. */
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

  /** After the code that is ready has run, fires alarms in order up to the first one that is slept for. */
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

/**
 * Timers of the actors of one thread: a heap by due time and one alarm for the earliest.
 *
 * Due times are wall-clock. If the wall clock steps back, existing timers keep their remaining time, since most are
 * intervals; an actor that waits for a time of day re-reads the clock and sets its timer again. An alarm sleeps at most one
 * hour, because setTimeout overflows at 24.8 days and because the wall clock may step or the machine may sleep; on waking,
 * everything due by the wall clock fires in due order.
 */
import type { Clock } from "./clock.ts";

const SLEEP_MAX_US = 3_600_000_000;
/** Smaller differences are rounding. */
const CLOCK_STEP_MIN_US = 1_000;

interface Timer {
  owner: string;
  key: string;
  dueUs: number;
  message: unknown;
  order: number;
  /** Position in the heap. */
  index: number;
}

/** The alarm of a thread: wakes once after a delay; setting it again replaces the former delay. */
export interface Alarm {
  set(delayUs: number, wake: () => void): void;
  clear(): void;
}

export function createSystemAlarm(): Alarm {
  let handle: NodeJS.Timeout | undefined;
  return {
    set: (delayUs, wake) => {
      clearTimeout(handle);
      handle = setTimeout(wake, Math.ceil(delayUs / 1000));
    },
    clear: () => clearTimeout(handle),
  };
}

export class Timers {
  readonly #clock: Clock;
  readonly #alarm: Alarm;
  readonly #fire: (owner: string, message: unknown) => void;
  readonly #heap: Timer[] = [];
  readonly #byKey = new Map<string, Timer>();
  #order = 0;
  /** Wall clock minus monotonic clock, as last measured; all comparisons use it, so that no step falls between two of them. */
  #offsetUs: number;

  constructor(clock: Clock, alarm: Alarm, fire: (owner: string, message: unknown) => void) {
    this.#clock = clock;
    this.#alarm = alarm;
    this.#fire = fire;
    this.#offsetUs = wallOffsetUs(clock);
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** The due time of the earliest timer, or null. */
  nextDueUs(): number | null {
    return this.#heap[0]?.dueUs ?? null;
  }

  /**
   * `offsetUs`: the wall clock minus the monotonic clock no later than the owner read the time that the due time follows from.
   * If the wall clock was set back since, the due time is too late by as much. A timer that fires too early is set again by its
   * actor; one that is a day late is missed.
   */
  set(owner: string, key: string, wantedUs: number, message: unknown, offsetUs = wallOffsetUs(this.#clock)): void {
    const aheadUs = this.#followClock();
    const backUs = offsetUs - this.#offsetUs;
    const dueUs = backUs < CLOCK_STEP_MIN_US ? wantedUs : wantedUs - backUs;
    this.cancel(owner, key);
    this.#order += 1;
    const timer: Timer = { owner, key, dueUs, message, order: this.#order, index: this.#heap.length };
    this.#byKey.set(`${owner}\n${key}`, timer);
    this.#heap.push(timer);
    this.#rise(timer);
    // After a step ahead the alarm still sleeps for a timer that is overdue, so re-arm even if the new timer is not the
    // first.
    if (this.#heap[0] === timer || aheadUs >= CLOCK_STEP_MIN_US) this.#arm();
  }

  cancel(owner: string, key: string): void {
    const timer = this.#byKey.get(`${owner}\n${key}`);
    if (timer !== undefined) this.#remove(timer);
  }

  /** Cancels every timer of an actor that ends. */
  cancelAll(owner: string): void {
    for (const timer of [...this.#byKey.values()]) if (timer.owner === owner) this.cancel(owner, timer.key);
  }

  /** Fires the due timers and sleeps until the next. */
  fireDue(): void {
    this.#followClock();
    const nowUs = this.#nowUs();
    for (;;) {
      const first = this.#heap[0];
      if (first === undefined || first.dueUs > nowUs) break;
      this.#remove(first);
      this.#fire(first.owner, first.message);
    }
    this.#arm();
  }

  stop(): void {
    this.#alarm.clear();
  }

  #arm(): void {
    const dueUs = this.nextDueUs();
    if (dueUs === null) return this.#alarm.clear();
    this.#alarm.set(Math.min(Math.max(0, dueUs - this.#nowUs()), SLEEP_MAX_US), () => this.fireDue());
  }

  #nowUs(): number {
    return this.#clock.monotonicUs() + this.#offsetUs;
  }

  /** Moves all due times by the same amount, so their order stays. Returns how far the clock was set ahead. */
  #followClock(): number {
    const offsetUs = wallOffsetUs(this.#clock);
    const backUs = this.#offsetUs - offsetUs;
    this.#offsetUs = offsetUs;
    if (backUs > 0) for (const timer of this.#heap) timer.dueUs -= backUs;
    return -backUs;
  }

  /** Removes the timer at once: where a timer is set again and again, stale entries kept until their due time would pile up. */
  #remove(timer: Timer): void {
    this.#byKey.delete(`${timer.owner}\n${timer.key}`);
    const last = this.#heap.pop();
    if (last === undefined || last === timer) return;
    this.#place(last, timer.index);
    this.#rise(last);
    this.#sink(last);
  }

  #rise(timer: Timer): void {
    let { index } = timer;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = this.#heap[parent];
      if (above === undefined || !isBefore(timer, above)) break;
      this.#place(above, index);
      index = parent;
    }
    this.#place(timer, index);
  }

  #sink(timer: Timer): void {
    let { index } = timer;
    for (;;) {
      const left = this.#heap[2 * index + 1];
      const right = this.#heap[2 * index + 2];
      const smaller = left !== undefined && right !== undefined && isBefore(right, left) ? right : left;
      if (smaller === undefined || !isBefore(smaller, timer)) break;
      const below = smaller.index;
      this.#place(smaller, index);
      index = below;
    }
    this.#place(timer, index);
  }

  #place(timer: Timer, index: number): void {
    this.#heap[index] = timer;
    timer.index = index;
  }
}

/** Wall clock minus monotonic clock; smaller than before if the wall clock was set back. */
export function wallOffsetUs(clock: Clock): number {
  return clock.nowUs() - clock.monotonicUs();
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.dueUs < b.dueUs || (a.dueUs === b.dueUs && a.order < b.order);
}

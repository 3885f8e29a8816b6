/**
 * How many runs an engine holds at a time. Runs that wait share the thread of user code by the hundred, runs that compute get
 * it for themselves: the offer begins with one run, doubles when the thread was mostly idle while the engine held as many runs
 * as it offered, and halves when the thread was busy all the time. Runs that end within a window delay each other by less
 * than that window, so the engine holds some of them in advance even if they fill the thread.
 */

/** Length of the windows in which the thread's use is measured. */
export const MEASURE_MS = 200;
/** A window ends early, but not before this time, once several runs for each that is offered have ended in it. */
const MEASURE_MS_LEAST = 25;
const ENDS_PER_OFFERED = 2;
/** Below this share of busy time further runs find the thread idle. */
const IDLE_BELOW = 0.7;
/** Above this share the runs delay each other. */
export const BUSY_ABOVE = 0.95;
/**
 * An engine whose runs end within this time on average needs no more than ENOUGH of them: more runs at a time would only make
 * each take longer.
 */
const SHORT_MS = 100;
const ENOUGH = 64;
/** With a busy thread, the share of the runs that ended in a window that the engine may hold in advance: 50 ms of work. */
const IN_ADVANCE = 0.25;

export class SlotOffer {
  readonly #most: number;
  #offered = 1;
  /** The most runs held within the current window. */
  #held = 0;
  /** Runs that ended within the current window. */
  #ended = 0;

  /** @param most the most runs at a time; 1 for one run after the other */
  constructor(most: number) {
    this.#most = most;
  }

  /** Runs that the engine may hold now. */
  get offered(): number {
    return this.#offered;
  }

  get endedInWindow(): number {
    return this.#ended;
  }

  /** How many further runs the engine takes while it holds `held`. */
  free(held: number): number {
    return Math.max(0, this.#offered - held);
  }

  /** The engine holds so many runs now. */
  holds(held: number): void {
    this.#held = Math.max(this.#held, held);
  }

  /** A run has ended; true if the window that has lasted for `ms` may end. */
  ended(ms: number): boolean {
    this.#ended += 1;
    return ms >= MEASURE_MS_LEAST && this.#ended >= ENDS_PER_OFFERED * this.#offered;
  }

  /** Ends a window of `ms` in which the thread was busy for this share of the time; `held` runs are held now. */
  measured(utilization: number, ms: number, held: number): void {
    if (utilization > BUSY_ABOVE) {
      const inAdvance = Math.floor((this.#ended * IN_ADVANCE * MEASURE_MS) / Math.max(ms, 1));
      this.#offered = Math.max(1, Math.floor(this.#offered / 2), Math.min(this.#offered, inAdvance));
    } else if (this.#held >= this.#offered && utilization < IDLE_BELOW && !this.#hasEnough(ms))
      this.#offered = Math.min(this.#most, Math.max(this.#offered * 2, this.#held + 1));
    this.#held = held;
    this.#ended = 0;
  }

  /** Runs went back because the thread is held: the engine takes no more beside the `held` ones until the thread is idle. */
  handedBack(held: number): void {
    this.#offered = Math.max(1, Math.min(this.#offered, held));
  }

  #hasEnough(ms: number): boolean {
    return this.#offered >= ENOUGH && this.#ended * SHORT_MS >= this.#offered * ms;
  }

  /** The thread is new: nothing is known about its runs. */
  reset(held: number): void {
    this.#offered = 1;
    this.#held = held;
    this.#ended = 0;
  }
}

/**
 * How many runs an engine holds at a time. Runs that wait share the thread of user code by the hundred, runs that compute get
 * it for themselves: the offer begins with one run, doubles when the thread was mostly idle while the engine held as many runs
 * as it offered, and halves when the thread was busy all the time.
 */

/** Length of the windows in which the thread's use is measured. */
export const MEASURE_MS = 200;
/** Below this share of busy time further runs find the thread idle. */
const IDLE_BELOW = 0.7;
/** Above this share the runs delay each other. */
const BUSY_ABOVE = 0.95;

export class SlotOffer {
  readonly #most: number;
  #offered = 1;
  /** The engine has held as many runs as offered within the current window. */
  #full = false;

  /** @param most the most runs at a time; 1 for one run after the other */
  constructor(most: number) {
    this.#most = most;
  }

  /** Runs that the engine may hold now. */
  get offered(): number {
    return this.#offered;
  }

  /** How many further runs the engine takes while it holds `held`. */
  free(held: number): number {
    if (held >= this.#offered) this.#full = true;
    return Math.max(0, this.#offered - held);
  }

  /** Ends a window in which the thread was busy for this share of the time. */
  measured(utilization: number): void {
    if (utilization > BUSY_ABOVE) this.#offered = Math.max(1, Math.floor(this.#offered / 2));
    else if (this.#full && utilization < IDLE_BELOW) this.#offered = Math.min(this.#most, this.#offered * 2);
    this.#full = false;
  }

  /** The thread is new: nothing is known about its runs. */
  reset(): void {
    this.#offered = 1;
    this.#full = false;
  }
}

/** A stop that waits for the runs under way in engines, while no further run is created or handed out. */
import { createSystemAlarm } from "#runtime/timers";

/** Interval of the counts of runs under way. */
const COUNT_US = 200_000;

export class Draining {
  readonly #stopWork: () => void;
  readonly #limit = createSystemAlarm();
  readonly #again = createSystemAlarm();
  readonly #first = Promise.withResolvers<number>();
  #ended: () => void = () => undefined;
  #cut = false;

  /** @param stopWork stops new work, and asks for the number of runs under way, which `count` gets */
  constructor(stopWork: () => void) {
    this.#stopWork = stopWork;
  }

  /** Resolves when no run is under way, after `seconds`, or when `cut` is called. */
  async wait(seconds: number): Promise<void> {
    if (seconds <= 0 || this.#cut) return this.#stopWork();
    await new Promise<void>((resolve) => {
      this.#ended = resolve;
      this.#limit.set(seconds * 1_000_000, resolve);
      this.#ask();
    });
    this.#limit.clear();
    this.#again.clear();
  }

  /** Resolves with the number of runs that were under way when the stop began. */
  get staying(): Promise<number> {
    return this.#first.promise;
  }

  /** The number of runs under way. */
  count(runs: number): void {
    this.#first.resolve(runs);
    if (runs === 0) this.#ended();
  }

  /** Ends the wait, or the next one before it begins. */
  cut(): void {
    this.#cut = true;
    this.#ended();
  }

  #ask(): void {
    this.#stopWork();
    this.#again.set(COUNT_US, () => this.#ask());
  }
}

/** Beyond this, writers of output wait until some of it has been sent; the reporter drops lines only above a higher bound. */
const WAITING_CHARS_MAX = 1_000_000;

/** How often the amount of unsent output is checked. */
const LOOK_MS = 20;

const CHARS = 0;
const CHILDREN = 1;
const COLLECTIONS = 2;
const LIVE_KIB = 3;
const POSTED = 4;
const VALUES = 5;

/** Int32 holds 2 TB in this unit. */
const KIB = 1_024;

/** Counters that the threads of an engine share, because each thread needs them while the other may be busy. */
export class Gauges {
  readonly memory: SharedArrayBuffer;
  readonly #values: Int32Array;

  constructor(memory = new SharedArrayBuffer(VALUES * Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#values = new Int32Array(memory);
  }

  /**
   * Adds characters of reports that wait to be sent; a negative number removes characters that were sent. Returns the number of
   * those that wait now.
   */
  addWaiting(chars: number): number {
    return Atomics.add(this.#values, CHARS, chars) + chars;
  }

  /** Adds characters of reports on their way between the threads; a negative number removes those that have arrived. */
  addPosted(chars: number): void {
    Atomics.add(this.#values, POSTED, chars);
  }

  /** The user thread has ended: nothing is on its way. */
  endPosted(): void {
    Atomics.store(this.#values, POSTED, 0);
  }

  /** Whether writers of output should wait. */
  get behind(): boolean {
    return Atomics.load(this.#values, CHARS) + Atomics.load(this.#values, POSTED) > WAITING_CHARS_MAX;
  }

  async caughtUp(): Promise<void> {
    while (this.behind) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }

  /** Counts a child process that a run has started. */
  noteChild(): void {
    Atomics.add(this.#values, CHILDREN, 1);
  }

  /** Number of child processes that runs have started. */
  get children(): number {
    return Atomics.load(this.#values, CHILDREN);
  }

  /** Records how much memory user code holds after a full garbage collection. */
  noteCollection(liveBytes: number): void {
    Atomics.store(this.#values, LIVE_KIB, Math.round(liveBytes / KIB));
    Atomics.add(this.#values, COLLECTIONS, 1);
  }

  /** Number of full collections so far, and what user code held after the latest. */
  get memoryHeld(): { collections: number; bytes: number } {
    return { collections: Atomics.load(this.#values, COLLECTIONS), bytes: Atomics.load(this.#values, LIVE_KIB) * KIB };
  }
}

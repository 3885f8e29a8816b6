/** Beyond this, what a run prints waits until some of it has been sent: below what the reporter keeps before it drops lines. */
const WAITING_CHARS_MAX = 16_000_000;

/** How often it is looked whether enough has been sent. */
const LOOK_MS = 20;

const CHARS = 0;
const CHILDREN = 1;

/** Figures of an engine that its threads share, because each needs them while the other may be busy. */
export class Gauges {
  readonly memory: SharedArrayBuffer;
  readonly #values: Int32Array;

  constructor(memory = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#values = new Int32Array(memory);
  }

  /** Counts characters of reports that wait to be sent, or with a negative number those that do no longer. */
  addWaiting(chars: number): void {
    Atomics.add(this.#values, CHARS, chars);
  }

  /** Whether those who print should wait. */
  get behind(): boolean {
    return Atomics.load(this.#values, CHARS) > WAITING_CHARS_MAX;
  }

  async caughtUp(): Promise<void> {
    while (this.behind) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }

  /** A run has started a child process. */
  noteChild(): void {
    Atomics.add(this.#values, CHILDREN, 1);
  }

  /** Child processes that runs have started. */
  get children(): number {
    return Atomics.load(this.#values, CHILDREN);
  }
}

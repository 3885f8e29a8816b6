/**
 * How far a long run is, on stderr: one line that is written over on a terminal, otherwise a line every half minute. Steps of a
 * seed leave no time to timers, so the line is looked at after each seed.
 */
const TERMINAL_EVERY_MS = 500;
const LOG_EVERY_MS = 30_000;

export class Progress {
  readonly #startedMs = performance.now();
  readonly #render: () => string;
  readonly #isTerminal = process.stderr.isTTY === true;
  #writtenMs = this.#startedMs;
  #seeds = 0;

  /** `render`: what there is to say beside the number of seeds and their rate. */
  constructor(render: () => string) {
    this.#render = render;
  }

  get seeds(): number {
    return this.#seeds;
  }

  get seconds(): number {
    return (performance.now() - this.#startedMs) / 1000;
  }

  seedEnded(): void {
    this.#seeds += 1;
    const nowMs = performance.now();
    if (nowMs - this.#writtenMs < (this.#isTerminal ? TERMINAL_EVERY_MS : LOG_EVERY_MS)) return;
    this.#writtenMs = nowMs;
    const text = `${this.#seeds} seeds in ${this.seconds.toFixed(0)} s, ${(this.#seeds / this.seconds).toFixed(1)} a second; ${this.#render()}`;
    if (this.#isTerminal) process.stderr.write(`\r${text.slice(0, process.stderr.columns - 1)}\x1b[K`);
    else process.stderr.write(`${text}\n`);
  }

  /** Prints a line that stays. */
  print(text: string): void {
    if (this.#isTerminal) process.stderr.write("\r\x1b[K");
    process.stdout.write(`${text}\n`);
  }
}

/** What the load test is doing: lines on standard error, and on a terminal one live line with the figures so far. */

const CLEAR_LINE = "\r\u001b[2K";
const COLUMNS_DEFAULT = 80;

export interface Progress {
  /** The next step of the test. */
  step(text: string): void;
  /** Where the current step is; shown on a terminal only. */
  live(text: string): void;
}

export const NO_PROGRESS: Progress = { step: () => undefined, live: () => undefined };

export interface ProgressStream {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

export class ProgressLine implements Progress {
  readonly #stream: ProgressStream;
  #step = "";

  constructor(stream: ProgressStream) {
    this.#stream = stream;
  }

  step(text: string): void {
    this.#step = text;
    if (this.#stream.isTTY === true) this.#show(text);
    else this.#stream.write(`${text}\n`);
  }

  live(text: string): void {
    if (this.#stream.isTTY === true) this.#show(`${this.#step}: ${text}`);
  }

  /** Removes the live line, so that the report begins on an empty one. */
  clear(): void {
    if (this.#stream.isTTY === true) this.#stream.write(CLEAR_LINE);
  }

  /** Cut to the terminal's width: a line that wraps cannot be replaced. */
  #show(text: string): void {
    this.#stream.write(`${CLEAR_LINE}${text.slice(0, (this.#stream.columns || COLUMNS_DEFAULT) - 1)}`);
  }
}

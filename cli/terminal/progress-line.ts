/** One line at the bottom of a terminal that is updated in place; never written in a pipe. */

import { type Terminal, truncate } from "./terminal.ts";

const FRAMES = ["\u280b", "\u2819", "\u2839", "\u2838", "\u283c", "\u2834", "\u2826", "\u2827", "\u2807", "\u280f"];
/** Twelve frames a second look smooth at negligible cost. */
const FRAME_MS = 80;
const CLEAR_LINE = "\r\u001b[2K";

export class ProgressLine {
  readonly #terminal: Terminal;
  #text: () => string = () => "";
  #timer: NodeJS.Timeout | null = null;
  #frame = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Whether the line is ever written. */
  get live(): boolean {
    return this.#terminal.live;
  }

  /** Shows a text from now on; `text` is called for each frame, so that it can include the elapsed time. */
  show(text: () => string): void {
    this.#text = text;
    if (!this.#terminal.live || this.#timer !== null) return;
    this.#timer = setInterval(() => this.#draw(), FRAME_MS);
    this.#timer.unref();
    this.#draw();
  }

  /** Writes lines above the progress line. */
  above(lines: readonly string[]): void {
    if (this.#timer === null) {
      for (const line of lines) this.#terminal.line(line);
      return;
    }
    this.#terminal.write(`${CLEAR_LINE}${lines.map((line) => `${line}\n`).join("")}`);
    this.#draw();
  }

  /** Removes the line. */
  end(): void {
    if (this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
    this.#terminal.write(CLEAR_LINE);
  }

  #draw(): void {
    this.#frame = (this.#frame + 1) % FRAMES.length;
    const mark = this.#terminal.paint("cyan", FRAMES[this.#frame] ?? "");
    this.#terminal.write(`${CLEAR_LINE}${mark} ${truncate(this.#text(), this.#terminal.columns - 3)}`);
  }
}

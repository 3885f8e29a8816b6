/**
 * Output by destination: colours and moving lines only on a terminal, plain text in a pipe. Text from other sources (log lines,
 * names) passes `printable`, so that it cannot control the terminal.
 */

import { stripVTControlCharacters, styleText } from "node:util";

export type Style = Parameters<typeof styleText>[0];

/** The part of a text stream such as process.stdout that output needs. */
export interface Output {
  isTTY?: boolean;
  columns?: number;
  rows?: number;
  write(text: string): unknown;
}

/** Width if the terminal does not report one. */
const COLUMNS_DEFAULT = 100;
const ROWS_DEFAULT = 24;

/** One destination with its capabilities. */
export class Terminal {
  readonly #out: Output;
  /** Lines may be rewritten in place. */
  readonly live: boolean;
  readonly colours: boolean;

  constructor(out: Output, env: NodeJS.ProcessEnv = process.env) {
    this.#out = out;
    this.live = out.isTTY === true && env["TERM"] !== "dumb";
    // NO_COLOR and FORCE_COLOR by the convention of terminal programs: set and not empty.
    this.colours = !env["NO_COLOR"] && (this.live || (env["FORCE_COLOR"] ?? "0") !== "0");
  }

  /** Available columns; unbounded in a pipe, where truncation would lose text. */
  get columns(): number {
    return this.live ? this.#out.columns || COLUMNS_DEFAULT : Number.POSITIVE_INFINITY;
  }

  paint(style: Style, text: string): string {
    return this.colours ? styleText(style, text, { validateStream: false }) : text;
  }

  line(text = ""): void {
    this.#out.write(`${text}\n`);
  }

  write(text: string): void {
    this.#out.write(text);
  }

  /** Replaces the content of a live terminal with these lines; lines that do not fit are counted. */
  screen(lines: readonly string[]): void {
    const room = Math.max(2, (this.#out.rows || ROWS_DEFAULT) - 1);
    const cut = lines.length - room;
    const shown = cut <= 0 ? lines : [...lines.slice(0, room - 1), this.paint("dim", `\u2026 ${cut + 1} more`)];
    this.#out.write(`\u001b[H${shown.map((line) => `${line}\u001b[K\n`).join("")}\u001b[J`);
  }

  json(value: unknown): void {
    this.#out.write(`${JSON.stringify(value, null, 2)}\n`);
  }
}

/** Text without escape sequences and control characters; tabs become blanks, line ends stay. */
export function printable(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll("\t", "    ")
    .replace(/\r\n?/g, "\n")
    .replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (character) => (character === "\n" ? "\n" : "\ufffd"));
}

/** Display width of a text: combining marks take no column, East Asian wide characters and emoji take two. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of stripVTControlCharacters(text)) {
    if (/\p{Mn}|\p{Me}|\u200d|\ufe0f/u.test(character)) continue;
    width += isWide(character.codePointAt(0) ?? 0) ? 2 : 1;
  }
  return width;
}

/** Truncates a text to a number of columns, with an ellipsis. The text must not contain styles. */
export function truncate(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let cut = "";
  let width = 1;
  for (const character of text) {
    width += displayWidth(character);
    if (width > columns) break;
    cut += character;
  }
  return `${cut}\u2026`;
}

function isWide(code: number): boolean {
  return (
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0x1f300 && code <= 0x1faff)
  );
}

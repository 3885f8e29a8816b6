/**
 * The server's log: starts, stops, failures. Each line goes to `server.log` in the home, and to standard error if requested.
 * The log is kept small: a full file is rotated, and the oldest is deleted.
 *
 * Lines contain no user data except quotes in the text of an error. The token and the password of the mail account are masked
 * everywhere.
 */
import { appendFileSync, chmodSync, existsSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Stall } from "#runtime/host";

export const SERVER_LOG_FILE = "server.log";
/** Maximum size of one file; a start and a stop take about 300 bytes. */
const FILE_BYTES_MAX = 1024 * 1024;
/** Rotated files kept; server.log.1 is the newest. */
const FORMER_FILES = 3;
/** Longer texts are truncated: a stack is not useful beyond this. */
const TEXT_LENGTH_MAX = 4_000;
/** Readable by the owner only. */
const FILE_MODE = 0o600;
/** Shorter texts would mask parts of ordinary words. */
const MASKED_LENGTH_MIN = 4;
const MASK = "********";

export type LogLevel = "info" | "warn" | "error";

/** A line from another thread; without a level it is an error, which also goes to standard error. */
export interface LogMessage {
  text: string;
  level?: "info" | "warn";
}

/** The line for work that held a thread and so delayed everything else there. */
export function stallText({ actor, what, tookUs }: Stall): string {
  return `${actor} held its thread for ${Math.round(tookUs / 1000)} ms: ${what}`;
}

export interface ServerLogOptions {
  home: string;
  /** Texts to mask. */
  secrets: readonly (string | null | undefined)[];
  /** Wall clock, microseconds since the Unix epoch. */
  nowUs(): number;
  fileBytesMax?: number;
}

export class ServerLog {
  readonly #options: ServerLogOptions;
  readonly #path: string;
  readonly #secrets: readonly string[];
  #bytes: number;

  constructor(options: ServerLogOptions) {
    this.#options = options;
    this.#path = join(options.home, SERVER_LOG_FILE);
    this.#secrets = options.secrets.filter((text): text is string => (text?.length ?? 0) >= MASKED_LENGTH_MIN);
    this.#bytes = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
  }

  info(text: string): void {
    this.write("info", text);
  }

  /** An info line that also goes to standard error. */
  notice(text: string): void {
    this.#show("info", text);
  }

  /** An error line, which also goes to standard error. */
  error(text: string): void {
    this.#show("error", text);
  }

  #show(level: LogLevel, text: string): void {
    this.write(level, text);
    process.stderr.write(`millrace: ${this.#masked(text)}\n`);
  }

  write(level: LogLevel, text: string): void {
    const time = new Date(this.#options.nowUs() / 1000).toISOString();
    const [first = "", ...more] = this.#masked(text).split("\n");
    const lines = [`${time} ${level.padEnd(5)} ${first}`, ...more.map((line) => `    ${line}`)];
    this.#append(`${lines.join("\n")}\n`);
  }

  #masked(text: string): string {
    const masked = this.#secrets.reduce((rest, secret) => rest.replaceAll(secret, MASK), text);
    return masked.length > TEXT_LENGTH_MAX ? `${masked.slice(0, TEXT_LENGTH_MAX)}\u2026` : masked;
  }

  /** A failing disk must not end the server; its problem is reported elsewhere. */
  #append(lines: string): void {
    const bytes = Buffer.byteLength(lines);
    try {
      if (this.#bytes > 0 && this.#bytes + bytes > (this.#options.fileBytesMax ?? FILE_BYTES_MAX)) this.#rotate();
      appendFileSync(this.#path, lines, { mode: FILE_MODE });
      if (this.#bytes === 0) chmodSync(this.#path, FILE_MODE);
      this.#bytes += bytes;
    } catch (error) {
      process.stderr.write(
        `millrace: ${this.#path} cannot be written: ${error instanceof Error ? error.message : String(error)}\n`,
      );
    }
  }

  #rotate(): void {
    rmSync(`${this.#path}.${FORMER_FILES}`, { force: true });
    for (let age = FORMER_FILES - 1; age >= 1; age -= 1) {
      if (existsSync(`${this.#path}.${age}`)) renameSync(`${this.#path}.${age}`, `${this.#path}.${age + 1}`);
    }
    renameSync(this.#path, `${this.#path}.1`);
    this.#bytes = 0;
  }
}

/**
 * What the server tells about itself: starts, stops, parts that failed. Each line goes to standard error where one asked for
 * it, and to `server.log` in the home, which is kept small: a full file moves aside, and the oldest is deleted.
 *
 * Lines hold no data of users beyond what the text of an error quotes. The token and the password of the mail account are
 * masked wherever they turn up.
 */
import { appendFileSync, chmodSync, existsSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Stall } from "#runtime/host";

export const SERVER_LOG_FILE = "server.log";
/** Bytes of one file; a start and a stop take some 300. */
const FILE_BYTES_MAX = 1024 * 1024;
/** Files kept beside the one that is written: server.log.1 is the newest of them. */
const FORMER_FILES = 3;
/** A longer text is cut: a stack is never of use beyond this. */
const TEXT_LENGTH_MAX = 4_000;
/** Readable by its owner alone. */
const FILE_MODE = 0o600;
/** Shorter texts would mask parts of ordinary words. */
const MASKED_LENGTH_MIN = 4;
const MASK = "********";

export type LogLevel = "info" | "warn" | "error";

/** A line of another thread; without a level, something went wrong, which is shown on standard error too. */
export interface LogMessage {
  text: string;
  level?: "info" | "warn";
}

/** The line for work that held a thread: it delayed everybody else. */
export function stallText({ actor, what, tookUs }: Stall): string {
  return `${actor} held its thread for ${Math.round(tookUs / 1000)} ms: ${what}`;
}

export interface ServerLogOptions {
  home: string;
  /** Texts that are masked. */
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

  /** Also shown on standard error, where nothing is wrong. */
  notice(text: string): void {
    this.#show("info", text);
  }

  /** Also shown on standard error. */
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

  /** A disk that takes no more must not end the server: it says so by other ways. */
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

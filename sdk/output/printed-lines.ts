import { StringDecoder } from "node:string_decoder";
import type { Scope } from "../execution/active-run.ts";
import { LINE_CHARS_MAX, writeLog } from "../execution/run-log.ts";
import type { SecretMask } from "../execution/secret-mask.ts";

/** The standard streams, with the level of their log lines. */
export const STREAM_LEVELS = { stdout: 20, stderr: 30 } as const;

export type StreamName = keyof typeof STREAM_LEVELS;

/**
 * Splits bytes into lines. Text overwritten by a carriage return is dropped, as on a terminal; a line that is too long is
 * split.
 */
export class PrintedLines {
  readonly #line: (text: string) => void;
  readonly #secrets: Pick<SecretMask, "longest" | "mask"> | null;
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";

  /** @param secrets are masked where a line is split: `line` could not recognise the halves of one */
  constructor(line: (text: string) => void, secrets: Pick<SecretMask, "longest" | "mask"> | null = null) {
    this.#secrets = secrets;
    this.#line = line;
  }

  write(bytes: Uint8Array): void {
    this.#take(this.#decoder.write(bytes));
  }

  /** Emits the last line, which may have no line end. */
  end(): void {
    this.#take(this.#decoder.end());
    if (this.#rest !== "") this.#emit(this.#rest);
    this.#rest = "";
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = visible(lines.pop() ?? "");
    for (const line of lines) this.#emit(line);
    // A secret that begins before the end of a piece has arrived whole.
    while (this.#rest.length > LINE_CHARS_MAX + this.#secretChars) this.#rest = this.#emitPiece(this.#masked(this.#rest));
  }

  #emit(line: string): void {
    let rest = visible(line.endsWith("\r") ? line.slice(0, -1) : line);
    if (rest.length > LINE_CHARS_MAX) rest = this.#masked(rest);
    while (rest.length > LINE_CHARS_MAX) rest = this.#emitPiece(rest);
    this.#line(rest);
  }

  get #secretChars(): number {
    return this.#secrets?.longest ?? 0;
  }

  #masked(text: string): string {
    return this.#secrets?.mask(text) ?? text;
  }

  /** Emits a piece and returns the rest of the text. */
  #emitPiece(text: string): string {
    this.#line(text.slice(0, LINE_CHARS_MAX));
    return text.slice(LINE_CHARS_MAX);
  }
}

/** The text after the last carriage return, unless that may belong to the end of the line. */
function visible(line: string): string {
  return line.slice(line.lastIndexOf("\r", line.length - 2) + 1);
}

/** The output of a run and of its child processes, as lines of its log. */
export class PrintedOutput {
  readonly #streams = new Map<string, PrintedLines>();
  readonly #open = new Set<PrintedLines>();
  readonly #arriving = new Set<Promise<unknown>>();

  /** A standard stream of this process; each task has its own, so that partial lines of two tasks do not mix. */
  stream(scope: Scope, name: StreamName): PrintedLines {
    const key = `${name} ${scope.task?.externalId ?? ""}`;
    const lines = this.#streams.get(key) ?? this.open(scope, name);
    this.#streams.set(key, lines);
    return lines;
  }

  /** A further source, such as a child process. */
  open({ run, task }: Scope, name: StreamName): PrintedLines {
    const taskRunId = task?.externalId ?? null;
    const lines = new PrintedLines(
      (text) => writeLog(run, taskRunId, STREAM_LEVELS[name], `millrace.${name}`, text),
      run.secrets,
    );
    this.#open.add(lines);
    return lines;
  }

  /** Called when the source has ended. */
  close(lines: PrintedLines): void {
    lines.end();
    this.#open.delete(lines);
  }

  /** The run's last state waits for this output. */
  expect(arrived: Promise<unknown>): void {
    this.#arriving.add(arrived);
    void arrived.finally(() => this.#arriving.delete(arrived));
  }

  async arrived(): Promise<void> {
    if (this.#arriving.size > 0) await Promise.all(this.#arriving);
  }

  /** Writes out lines that have no line end yet. */
  flush(): void {
    for (const lines of this.#open) lines.end();
  }
}

/**
 * A connection that only reads. Answers stay in the bytes that the server sent: the thread that asked decodes their rows
 * (rows.ts), so no value is copied from thread to thread by itself.
 */
import type { Duplex } from "node:stream";
import { toLossError } from "./errors.ts";
import { CODE, HEADER_BYTES, messageEnd } from "./protocol-message.ts";
import { columnsOf, errorOf, type ResultColumn } from "./server-messages.ts";

/** What the server sent for one request. */
export interface ServerAnswer {
  /** Its messages; those of rows among them. They have their memory for themselves. */
  bytes: Uint8Array<ArrayBuffer>;
  /** Null where they were not asked for. */
  columns: ResultColumn[] | null;
  /** Whether the portal has more rows. */
  suspended: boolean;
}

/** After which message an answer is complete: the server has executed the statement, or is ready for another request. */
export type AnswerEnd = "executed" | "ready";

interface Asked {
  end: AnswerEnd;
  columns: ResultColumn[] | null;
  suspended: boolean;
  error: Error | null;
  resolve(answer: ServerAnswer): void;
  reject(error: unknown): void;
}

const EXECUTED: ReadonlySet<number> = new Set([CODE.commandComplete, CODE.portalSuspended, CODE.emptyQuery, CODE.error]);

export class ReadConnection {
  readonly #stream: Duplex;
  #asked: Asked | null = null;
  /** Messages that have not been read, and those of the answer under way before them. */
  #bytes: Buffer = Buffer.alloc(0);
  #filled = 0;
  /** Where the first message begins that has not been read. */
  #read = 0;
  /** How often the server will say that it is ready without an answer that waits for it. */
  #unheeded = 0;
  /** Told, and not sent yet. */
  #told: Buffer[] = [];
  #cause: unknown = new Error("the server has closed it");
  #isOpen = true;

  /** @param stream of a connection that is ready; only this object reads the stream from now on */
  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on("data", (chunk: Buffer) => this.#receive(chunk));
    stream.on("error", (cause) => {
      this.#cause = cause;
    });
    stream.on("close", () => this.#close());
  }

  /** False when the connection was lost or dropped. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Sends a request; nothing else may be asked until it is answered. @throws the server's error, StorageError for a loss */
  ask(messages: Buffer, end: AnswerEnd): Promise<ServerAnswer> {
    return new Promise((resolve, reject) => {
      if (!this.#isOpen) return reject(toLossError(this.#cause));
      this.#asked = { end, columns: null, suspended: false, error: null, resolve, reject };
      this.#send(messages);
    });
  }

  /**
   * Sends messages whose answer no caller waits for; the server ends that answer by saying that it is ready. They leave when the
   * answer before them has been given, or with the next request.
   */
  tell(messages: Buffer): void {
    this.#unheeded += 1;
    this.#told.push(messages);
    setImmediate(() => {
      if (this.#told.length > 0 && this.#isOpen) this.#send();
    });
  }

  #send(...messages: Buffer[]): void {
    const all = [...this.#told.splice(0), ...messages];
    this.#stream.write(all.length === 1 ? all[0] : Buffer.concat(all));
  }

  /** Ends the connection without a word to the server; the request under way fails. */
  drop(): void {
    this.#stream.destroy();
    this.#close();
  }

  #close(): void {
    this.#isOpen = false;
    const asked = this.#asked;
    this.#asked = null;
    // The server says why it ends a connection.
    asked?.reject(asked.error ?? toLossError(this.#cause));
  }

  #receive(chunk: Buffer): void {
    this.#append(chunk);
    for (;;) {
      const end = messageEnd(this.#bytes, this.#read, this.#filled);
      if (end === null) return;
      const from = this.#read;
      this.#read = end;
      this.#take(this.#bytes[from] ?? 0, from + HEADER_BYTES, end);
    }
  }

  #take(code: number, from: number, end: number): void {
    const asked = this.#unheeded > 0 ? null : this.#asked;
    const isReady = code === CODE.ready;
    const error = code === CODE.error ? errorOf(this.#bytes, from, end) : null;
    if (asked === null) {
      if (isReady) this.#unheeded -= 1;
      // Why the server ends the connection.
      this.#cause = error ?? this.#cause;
      return this.#forget();
    }
    asked.error = error ?? asked.error;
    if (code === CODE.rowDescription) asked.columns = columnsOf(this.#bytes, from);
    if (code === CODE.portalSuspended) asked.suspended = true;
    if (asked.end === "ready" ? isReady : EXECUTED.has(code)) this.#settle(asked);
  }

  #settle({ columns, suspended, error, resolve, reject }: Asked): void {
    this.#asked = null;
    // Only this answer is left in the bytes: the next request has not been sent.
    const bytes = new Uint8Array(this.#bytes.subarray(0, this.#read));
    this.#forget();
    if (error === null) resolve({ bytes, columns, suspended });
    else reject(error);
  }

  /** Messages that have been read are not needed any more. */
  #forget(): void {
    this.#bytes = this.#bytes.subarray(this.#read, this.#filled);
    this.#filled -= this.#read;
    this.#read = 0;
  }

  /** Room is doubled, so that a large answer is not copied at each of its chunks. */
  #append(chunk: Buffer): void {
    const filled = this.#filled + chunk.length;
    if (this.#filled === 0) this.#bytes = chunk;
    else {
      if (filled > this.#bytes.length) {
        const larger = Buffer.allocUnsafe(Math.max(filled, this.#bytes.length * 2));
        this.#bytes.copy(larger, 0, 0, this.#filled);
        this.#bytes = larger;
      }
      chunk.copy(this.#bytes, this.#filled);
    }
    this.#filled = filled;
  }
}

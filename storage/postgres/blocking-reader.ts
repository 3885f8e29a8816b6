/**
 * Reads of PostgreSQL within a step: the calling thread waits until a helper thread has the rows.
 *
 * `startReaderThread` starts the helper, and `connect` makes a link that can be sent to any thread, which reads with a
 * `BlockingReader`. Each link has a connection of its own, so callers do not wait for each other. An answer is posted as a message;
 * the caller sleeps on a shared number that the helper sets after posting, and takes the message without its event loop.
 *
 * A caller is never left waiting: PostgreSQL cancels a statement after the time limit, the helper gives up a silent connection
 * somewhat later, and the caller a silent helper later still.
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort, type TransferListItem, Worker } from "node:worker_threads";
import type { Settings, Table } from "./connection.ts";

/** What a caller's thread gets. The port has to be in the list of transferred objects. */
export interface ReaderLink {
  port: MessagePort;
  /** One number: that of the newest answer. */
  signal: Int32Array;
  limitMs: number;
}

/** What the helper gets for a link. */
export interface ReaderConnect {
  port: MessagePort;
  signal: Int32Array;
  limitMs: number;
  settings: Settings;
}

export interface ReadRequest {
  number: number;
  text: string;
  values: readonly unknown[];
}

export type ReadAnswer = { number: number; table: Table } | { number: number; error: string; code: string | null };

/** After the time limit: how long the helper waits for the end of a cancelled statement, and the caller for the helper. */
export const GRACE_MS = 500;

/** A read without rows: PostgreSQL's error code where it has one (57014 after the time limit). */
export class ReadFailed extends Error {
  readonly code: string | null;

  constructor(message: string, code: string | null) {
    super(message);
    this.name = "ReadFailed";
    this.code = code;
  }
}

export interface ReaderThread {
  connect(settings: Settings, limitMs: number): ReaderLink;
  stop(): Promise<void>;
}

export function startReaderThread(): ReaderThread {
  const worker = new Worker(new URL("./blocking-reader-thread.ts", import.meta.url));
  return {
    connect: (settings, limitMs) => {
      const { port1, port2 } = new MessageChannel();
      const signal = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
      const connect: ReaderConnect = { port: port2, signal, limitMs, settings };
      worker.postMessage(connect, [port2 as TransferListItem]);
      return { port: port1, signal, limitMs };
    },
    stop: async () => {
      await worker.terminate();
    },
  };
}

/** Reads on the thread that creates it. */
export class BlockingReader {
  readonly #link: ReaderLink;
  #number = 0;

  constructor(link: ReaderLink) {
    this.#link = link;
  }

  /** All rows, by column. */
  all<Row extends object>(text: string, values: readonly unknown[] = []): Row[] {
    const { columns, rows } = this.#table(text, values);
    return rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])) as Row);
  }

  /** The first row. */
  get<Row extends object>(text: string, values: readonly unknown[] = []): Row | undefined {
    return this.all<Row>(text, values)[0];
  }

  /** The helper then closes the connection. */
  close(): void {
    this.#link.port.close();
  }

  #table(text: string, values: readonly unknown[]): Table {
    // The number wraps as the shared one does.
    this.#number = (this.#number + 1) | 0;
    const request: ReadRequest = { number: this.#number, text, values };
    this.#link.port.postMessage(request);
    this.#wait();
    const answer = this.#answer();
    if (answer === null) throw new ReadFailed("the thread that reads from PostgreSQL does not answer", null);
    if ("error" in answer) throw new ReadFailed(answer.error, answer.code);
    return answer.table;
  }

  /** Until the answer is there, or the helper has been silent for too long. */
  #wait(): void {
    const { signal, limitMs } = this.#link;
    const until = performance.now() + limitMs + 2 * GRACE_MS;
    for (;;) {
      const newest = Atomics.load(signal, 0);
      const leftMs = until - performance.now();
      if (newest === this.#number || leftMs <= 0) return;
      Atomics.wait(signal, 0, newest, leftMs);
    }
  }

  /** The answer to the newest request; those to requests that were given up are dropped. */
  #answer(): ReadAnswer | null {
    for (;;) {
      const received = receiveMessageOnPort(this.#link.port) as { message: ReadAnswer } | undefined;
      if (received === undefined) return null;
      if (received.message.number === this.#number) return received.message;
    }
  }
}

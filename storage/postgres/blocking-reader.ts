/**
 * Reads of PostgreSQL within a step: the calling thread waits until a helper thread has the rows.
 *
 * `startReaderThread` starts the helper, and `connect` makes a link that can be sent to any thread, which reads with a
 * `BlockingReader`. Each link has a connection of its own, so callers do not wait for each other. An answer is posted as a message;
 * the caller sleeps on a shared number that the helper sets after posting, and takes the message without its event loop.
 *
 * A caller is never left waiting: PostgreSQL cancels a statement after the time limit, the helper gives up a silent connection
 * somewhat later, and the caller a silent helper later still. While the database cannot be reached, the helper tries again for
 * the patience of the link.
 */
import { extname } from "node:path";
import { MessageChannel, type MessagePort, receiveMessageOnPort, type TransferListItem, Worker } from "node:worker_threads";
import { StorageError, type StorageFault } from "../sqlite/storage-error.ts";
import type { Settings } from "./connection.ts";
import type { ReadPortion, SessionLimits, StatementRead } from "./read-session.ts";
import { decodeRows } from "./rows.ts";
import type { ResultColumn } from "./server-messages.ts";
import type { Table } from "./table.ts";

/** How long reads take at most. */
export interface ReadLimits extends SessionLimits {
  /** For a database that cannot be reached; 0 for one attempt. */
  patienceMs: number;
}

/** As the protocol has it. */
const ALL_ROWS = 0;

/** Statements whose columns are kept; those of further texts are sent at each call. */
const DESCRIBED_MAX = 1_024;

/** What a caller's thread gets. The port has to be in the list of transferred objects. */
export interface ReaderLink extends ReadLimits {
  port: MessagePort;
  /** One number: that of the newest answer. */
  signal: Int32Array;
}

/** What the helper gets for a link. */
export interface ReaderConnect extends ReaderLink {
  settings: Settings;
}

export type AskedRead =
  | ({ kind: "all" } & StatementRead)
  /** The first rows, and a portal for more. */
  | ({ kind: "open" } & StatementRead)
  | { kind: "next"; portal: string; rowsMax: number }
  | { kind: "close"; portal: string }
  | { kind: "exec"; text: string };

export type ReadRequest = AskedRead & { number: number };

export type ReadAnswer = { number: number; portion: ReadPortion } | { number: number; error: ReadError };

/** After the time limit: how long the helper waits for the end of a cancelled statement, and the caller for the helper. */
export const GRACE_MS = 500;

/** Why there are no rows; `code` is PostgreSQL's where it has one. */
export interface ReadError {
  fault: StorageFault;
  message: string;
  code: string | null;
}

export class ReadFailed extends StorageError {
  readonly code: string | null;

  constructor({ fault, message, code }: ReadError) {
    super(fault, message);
    this.code = code;
  }
}

export interface ReaderThread {
  connect(settings: Settings, limits: ReadLimits): ReaderLink;
  stop(): Promise<void>;
}

export function startReaderThread(): ReaderThread {
  const worker = new Worker(new URL(`./blocking-reader-thread${extname(import.meta.url)}`, import.meta.url));
  worker.unref();
  return {
    connect: (settings, limits) => {
      const { port1, port2 } = new MessageChannel();
      const signal = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
      const connect: ReaderConnect = { port: port2, signal, ...limits, settings };
      worker.postMessage(connect, [port2 as TransferListItem]);
      return { port: port1, signal, ...limits };
    },
    stop: async () => {
      await worker.terminate();
    },
  };
}

/** Rows, and the portal that has more of them. */
export interface TablePortion {
  table: Table;
  portal: string | null;
}

/** Reads on the thread that creates it. */
export class BlockingReader {
  readonly #link: ReaderLink;
  /** Columns by the text of the statement, which the helper sends once. */
  readonly #columns = new Map<string, ResultColumn[]>();
  /** Columns of open portals. */
  readonly #portals = new Map<string, ResultColumn[]>();
  #number = 0;

  constructor(link: ReaderLink) {
    this.#link = link;
  }

  /** All rows, or the first ones. */
  all(text: string, values: readonly unknown[] = [], rowsMax = ALL_ROWS): Table {
    return this.#rows("all", text, values, rowsMax).table;
  }

  /** The first rows, and the portal that has more of them. It must be read to its end or closed. */
  open(text: string, values: readonly unknown[], rowsMax: number): TablePortion {
    return this.#rows("open", text, values, rowsMax);
  }

  next(portal: string, rowsMax: number): TablePortion {
    const columns = this.#portals.get(portal) ?? [];
    const portion = this.#read({ kind: "next", portal, rowsMax });
    if (portion.portal === null) this.#portals.delete(portal);
    return { table: tableOf(portion, columns), portal: portion.portal };
  }

  closePortal(portal: string): void {
    this.#portals.delete(portal);
    this.#read({ kind: "close", portal });
  }

  #rows(kind: "all" | "open", text: string, values: readonly unknown[], rowsMax: number): TablePortion {
    const known = this.#columns.get(text);
    const portion = this.#read({ kind, text, values, rowsMax, described: known === undefined });
    const columns = known ?? portion.columns ?? [];
    if (known === undefined && this.#columns.size < DESCRIBED_MAX) this.#columns.set(text, columns);
    if (portion.portal !== null) this.#portals.set(portion.portal, columns);
    return { table: tableOf(portion, columns), portal: portion.portal };
  }

  /** Runs BEGIN, COMMIT or ROLLBACK. */
  exec(text: string): void {
    this.#read({ kind: "exec", text });
  }

  /** The helper then closes the connection. */
  close(): void {
    this.#link.port.close();
  }

  #read(read: AskedRead): ReadPortion {
    // The number wraps as the shared one does.
    this.#number = (this.#number + 1) | 0;
    const request: ReadRequest = { ...read, number: this.#number };
    this.#link.port.postMessage(request);
    this.#wait();
    const answer = this.#answer();
    if (answer === null)
      throw new ReadFailed({ fault: "reader", message: "the thread that reads from PostgreSQL does not answer", code: null });
    if ("error" in answer) throw new ReadFailed(answer.error);
    return answer.portion;
  }

  /** Until the answer is there, or the helper has been silent for too long. */
  #wait(): void {
    const { signal, limitMs, patienceMs } = this.#link;
    const until = performance.now() + patienceMs + limitMs + 2 * GRACE_MS;
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

function tableOf({ bytes }: ReadPortion, columns: readonly ResultColumn[]): Table {
  return { columns: columns.map(({ name }) => name), rows: decodeRows(bytes, columns) };
}

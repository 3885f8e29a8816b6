/// <reference path="./pg.d.ts" />
/**
 * One execution of a prepared statement: all its rows, or a portion of them from a portal that stays open. The package pg has no
 * portal that other statements of the connection may come between.
 */
import type { DataRow, ProtocolConnection, RowDescription, Submittable } from "pg";
import { putValue as putColumnValue } from "./columns.ts";
import { MessageBuffer } from "./message-buffer.ts";
import { CODE, message } from "./protocol-message.ts";
import type { Table } from "./table.ts";

/** Type numbers, as in PostgreSQL's catalogue pg_type. */
const NUMBERS = new Set([20, 21, 23, 26, 700, 701, 1700]);
const BOOLEAN = 16;
const BYTES = 17;

/** What a statement is sent with. */
export interface ExecutionPlan {
  /** Name of the prepared statement. */
  name: string;
  /** Its text, where the connection has not prepared it yet. */
  text: string | null;
  values: readonly unknown[];
  /** Empty for the portal that ends with the execution. */
  portal: string;
  /** Highest number of rows; 0 for all. */
  rowsMax: number;
  /** A statement that goes before, without rows. */
  before: string | null;
}

type Decode = (text: string) => unknown;

export class Execution implements Submittable {
  readonly result: Promise<Table>;
  /** Whether the portal has more rows. */
  suspended = false;
  readonly #messages: Buffer;
  readonly #table: Table = { columns: [], rows: [] };
  readonly #done = Promise.withResolvers<Table>();
  #decoders: Decode[];

  private constructor(messages: Buffer, decoders: Decode[]) {
    this.#messages = messages;
    this.#decoders = decoders;
    this.result = this.#done.promise;
  }

  static begin(plan: ExecutionPlan): Execution {
    return new Execution(beginMessages(plan), []);
  }

  /** The next portion of the portal of an execution. */
  static continue(portal: string, rowsMax: number, first: Execution): Execution {
    return new Execution(executeMessages(portal, rowsMax), first.#decoders);
  }

  submit({ stream }: ProtocolConnection): null {
    stream.write(this.#messages);
    return null;
  }

  handleRowDescription({ fields }: RowDescription): void {
    this.#table.columns = fields.map(({ name }) => name);
    this.#decoders = fields.map(({ dataTypeID }) => decoderOf(dataTypeID));
  }

  handleDataRow({ fields }: DataRow): void {
    this.#table.rows.push(fields.map((text, index) => (text === null ? null : (this.#decoders[index]?.(text) ?? text))));
  }

  handlePortalSuspended(): void {
    this.suspended = true;
  }

  handleCommandComplete(): void {}

  handleEmptyQuery(): void {}

  handleError(error: Error): void {
    this.#done.reject(error);
  }

  handleReadyForQuery(): void {
    this.#done.resolve(this.#table);
  }
}

function decoderOf(type: number): Decode {
  if (NUMBERS.has(type)) return Number;
  // SQLite has 0 and 1.
  if (type === BOOLEAN) return (text) => (text === "t" ? 1 : 0);
  if (type === BYTES) return bytesOf;
  return (text) => text;
}

/** An array of its own: another thread gets it. */
function bytesOf(text: string): Uint8Array {
  if (!text.startsWith("\\x")) throw new Error("PostgreSQL sends bytes in another form than bytea_output = hex");
  return new Uint8Array(Buffer.from(text.slice(2), "hex"));
}

function beginMessages({ name, text, values, portal, rowsMax, before }: ExecutionPlan): Buffer {
  const buffer = new MessageBuffer();
  if (before !== null) {
    putParse(buffer, "", before);
    putBind(buffer, "", "", []);
    putExecute(buffer, "", 0);
  }
  if (text !== null) putParse(buffer, name, text);
  putBind(buffer, portal, name, values);
  message(buffer, CODE.describe, () => {
    buffer.byte(CODE.portal);
    buffer.name(portal);
  });
  putExecute(buffer, portal, rowsMax);
  message(buffer, CODE.sync, () => {});
  return buffer.whole();
}

function executeMessages(portal: string, rowsMax: number): Buffer {
  const buffer = new MessageBuffer();
  putExecute(buffer, portal, rowsMax);
  message(buffer, CODE.sync, () => {});
  return buffer.whole();
}

function putParse(buffer: MessageBuffer, name: string, text: string): void {
  message(buffer, CODE.parse, () => {
    buffer.name(name);
    buffer.name(text);
    buffer.int16(0);
  });
}

/** All values are sent as text but bytes. */
function putBind(buffer: MessageBuffer, portal: string, name: string, values: readonly unknown[]): void {
  message(buffer, CODE.bind, () => {
    buffer.name(portal);
    buffer.name(name);
    buffer.int16(values.length);
    for (const value of values) buffer.int16(value instanceof Uint8Array ? 1 : 0);
    buffer.int16(values.length);
    for (const value of values) putValue(buffer, value);
    buffer.int16(0);
  });
}

function putValue(buffer: MessageBuffer, value: unknown): void {
  if (value === null || value === undefined) putColumnValue(buffer, "text", null);
  else if (value instanceof Uint8Array) putColumnValue(buffer, "bytea", value);
  else putColumnValue(buffer, "text", String(value));
}

function putExecute(buffer: MessageBuffer, portal: string, rowsMax: number): void {
  message(buffer, CODE.execute, () => {
    buffer.name(portal);
    buffer.int32(rowsMax);
  });
}

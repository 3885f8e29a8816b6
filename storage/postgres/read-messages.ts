/** The messages that a connection which only reads sends. */
import { putValue as putColumnValue } from "./columns.ts";
import { MessageBuffer } from "./message-buffer.ts";
import { CODE, message } from "./protocol-message.ts";

/** Most messages are shorter. */
const BYTES_AT_FIRST = 2_048;

/** What a statement is executed with. */
export interface Execution {
  /** Name of the prepared statement. */
  name: string;
  /** Its text, where the connection has not prepared it yet. */
  text: string | null;
  values: readonly unknown[];
  /** Whether the columns are asked for. */
  described: boolean;
  /** Empty for the portal that the next execution replaces. */
  portal: string;
  /** Highest number of rows; 0 for all. */
  rowsMax: number;
}

/** Ends the transaction, unless BEGIN began it; the server answers that it is ready. */
export const SYNC = messagesOf(putSync);

/**
 * BEGIN within the transaction of the statement before, so that the transaction outlives the next `SYNC`. In a transaction that
 * BEGIN began, the time limit of a statement applies to each portion; in any other, to all portions together.
 */
export const BEGIN_HERE = messagesOf((buffer) => {
  putParse(buffer, "", "BEGIN");
  putBind(buffer, "", "", []);
  putExecute(buffer, "", 0);
  putSync(buffer);
});

/** Executes a statement. The server sends what it has, and the transaction goes on. */
export function executeOpen(execution: Execution): Buffer {
  return messagesOf((buffer) => {
    putExecution(buffer, execution);
    message(buffer, CODE.flush, () => {});
  });
}

/** Executes a statement, and ends its transaction. */
export function executeWhole(execution: Execution): Buffer {
  return messagesOf((buffer) => {
    putExecution(buffer, execution);
    putSync(buffer);
  });
}

/** The next rows of a portal. */
export function executePortal(portal: string, rowsMax: number): Buffer {
  return messagesOf((buffer) => {
    putExecute(buffer, portal, rowsMax);
    putSync(buffer);
  });
}

/** Statements without values and rows. */
export function simpleQuery(text: string): Buffer {
  return messagesOf((buffer) => message(buffer, CODE.query, () => buffer.name(text)));
}

function messagesOf(put: (buffer: MessageBuffer) => void): Buffer {
  const buffer = new MessageBuffer(BYTES_AT_FIRST);
  put(buffer);
  return buffer.whole();
}

function putExecution(buffer: MessageBuffer, { name, text, values, described, portal, rowsMax }: Execution): void {
  if (text !== null) putParse(buffer, name, text);
  putBind(buffer, portal, name, values);
  if (described)
    message(buffer, CODE.describe, () => {
      buffer.byte(CODE.portal);
      buffer.name(portal);
    });
  putExecute(buffer, portal, rowsMax);
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

function putSync(buffer: MessageBuffer): void {
  message(buffer, CODE.sync, () => {});
}

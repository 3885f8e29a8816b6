/** Rows of an answer of PostgreSQL, decoded from the messages of the server. Values are in text form. */
import { StorageError } from "../sqlite/storage-error.ts";
import { CODE, HEADER_BYTES, messageEnd } from "./protocol-message.ts";
import type { ResultColumn } from "./server-messages.ts";

/** Type numbers, as in PostgreSQL's catalogue pg_type. */
const NUMBERS = new Set([20, 21, 23, 26, 700, 701, 1700]);
const BOOLEAN = 16;
const BYTES = 17;

const NULL_LENGTH = -1;
/** The number of values, before them. */
const COUNT_BYTES = 2;
/** Integers of so many digits have no fractions as sums of their digits. */
const DIGITS_MAX = 15;
const DIGIT_0 = 48;
const MINUS = 45;
/** "\x" before the digits of bytes. */
const BYTES_PREFIX = 2;

type Decode = (bytes: Buffer, from: number, to: number) => unknown;

/** Each row is an array of its values. */
export function decodeRows(answer: Uint8Array<ArrayBuffer>, columns: readonly ResultColumn[]): unknown[][] {
  const bytes = Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength);
  const decoders = columns.map(({ type }) => decoderOf(type));
  const rows: unknown[][] = [];
  for (let at = 0, end = messageEnd(bytes, at); end !== null; at = end, end = messageEnd(bytes, at))
    if (bytes[at] === CODE.dataRow) rows.push(decodeRow(bytes, at + HEADER_BYTES, decoders));
  return rows;
}

function decodeRow(bytes: Buffer, from: number, decoders: readonly Decode[]): unknown[] {
  const values: unknown[] = [];
  if (bytes.readInt16BE(from) !== decoders.length) throw new StorageError("reader", "a row of PostgreSQL has other columns");
  let at = from + COUNT_BYTES;
  for (const decode of decoders) {
    const length = bytes.readInt32BE(at);
    at += 4;
    if (length === NULL_LENGTH) values.push(null);
    else {
      values.push(decode(bytes, at, at + length));
      at += length;
    }
  }
  return values;
}

function decoderOf(type: number): Decode {
  if (NUMBERS.has(type)) return numberOf;
  // SQLite has 0 and 1.
  if (type === BOOLEAN) return (bytes, from) => (bytes[from] === "t".charCodeAt(0) ? 1 : 0);
  if (type === BYTES) return bytesOf;
  return (bytes, from, to) => bytes.toString("utf8", from, to);
}

function numberOf(bytes: Buffer, from: number, to: number): number {
  const begin = bytes[from] === MINUS ? from + 1 : from;
  let value = 0;
  if (to - begin > DIGITS_MAX) return Number(bytes.toString("latin1", from, to));
  for (let at = begin; at < to; at += 1) {
    const digit = (bytes[at] ?? 0) - DIGIT_0;
    if (digit < 0 || digit > 9) return Number(bytes.toString("latin1", from, to));
    value = value * 10 + digit;
  }
  return begin === from ? value : -value;
}

function bytesOf(bytes: Buffer, from: number, to: number): Uint8Array {
  const text = bytes.toString("latin1", from, to);
  if (!text.startsWith("\\x")) throw new Error("PostgreSQL sends bytes in another form than bytea_output = hex");
  return new Uint8Array(Buffer.from(text.slice(BYTES_PREFIX), "hex"));
}

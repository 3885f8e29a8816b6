/** Messages of PostgreSQL's protocol, version 3: a code, a length, and the content. */
import type { MessageBuffer } from "./message-buffer.ts";

/** Codes of messages, and of what they are about. */
export const CODE = {
  bind: 66,
  close: 67,
  describe: 68,
  execute: 69,
  flush: 72,
  parse: 80,
  portal: 80,
  query: 81,
  statement: 83,
  sync: 83,
  commandComplete: 67,
  dataRow: 68,
  emptyQuery: 73,
  error: 69,
  portalSuspended: 115,
  ready: 90,
  rowDescription: 84,
} as const;

/** Adds a message; `put` adds its content. */
export function message(buffer: MessageBuffer, code: number, put: () => void): void {
  buffer.byte(code);
  buffer.int32(0);
  const from = buffer.end;
  put();
  buffer.setInt32(buffer.end - from + LENGTH_BYTES, from - LENGTH_BYTES);
}

/** The length counts itself. */
const LENGTH_BYTES = 4;
/** Code and length. */
export const HEADER_BYTES = 1 + LENGTH_BYTES;

/** Where the message ends that begins here; null if the bytes end before. */
export function messageEnd(bytes: Buffer, from: number, filled = bytes.length): number | null {
  if (from + HEADER_BYTES > filled) return null;
  const end = from + 1 + bytes.readInt32BE(from + 1);
  return end > filled ? null : end;
}

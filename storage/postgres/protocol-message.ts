/** Messages of PostgreSQL's protocol, version 3: a code, a length, and the content. */
import type { MessageBuffer } from "./message-buffer.ts";

/** Codes of messages, and of what they are about. */
export const CODE = {
  bind: 66,
  close: 67,
  describe: 68,
  execute: 69,
  parse: 80,
  portal: 80,
  statement: 83,
  sync: 83,
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

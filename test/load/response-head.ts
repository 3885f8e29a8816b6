/**
 * A minimal HTTP/1.1 response parser for the load generator: status, body length, keep-alive. A general client would cost
 * more per request than the server under test and distort the figures.
 */
export type BodyLength = { kind: "known"; bytes: number } | { kind: "chunked" } | { kind: "until_close" };

export interface ResponseHead {
  status: number;
  /** Offset of the first body byte. */
  bodyStart: number;
  length: BodyLength;
  closes: boolean;
}

const HEAD_END = "\r\n\r\n";
const HEAD_END_BYTES = HEAD_END.length;
const STATUS_START = "HTTP/1.1 ".length;
const STATUS_END = STATUS_START + 3;
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;
const CHUNKED = /\r\ntransfer-encoding: *chunked/i;
const CLOSES = /\r\nconnection: *close/i;

/** Parses the head at the start of `bytes`; null while incomplete. Throws for bytes that are not HTTP/1.x. */
export function parseHead(bytes: Buffer): ResponseHead | null {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) return null;
  const head = bytes.toString("latin1", 0, end);
  const status = Number(head.slice(STATUS_START, STATUS_END));
  if (!head.startsWith("HTTP/1.") || !(status >= 100)) throw new Error(`not an HTTP answer: ${head.slice(0, 60)}`);
  return { status, bodyStart: end + HEAD_END_BYTES, length: bodyLength(head, status), closes: CLOSES.test(head) };
}

function bodyLength(head: string, status: number): BodyLength {
  const known = CONTENT_LENGTH.exec(head);
  if (known !== null) return { kind: "known", bytes: Number(known[1]) };
  if (CHUNKED.test(head)) return { kind: "chunked" };
  if (status === 204 || status === 304) return { kind: "known", bytes: 0 };
  return { kind: "until_close" };
}

/** Joins the chunks that start at `start`; null while the last (empty) chunk has not arrived. */
export function joinChunks(bytes: Buffer, start: number): Buffer | null {
  const parts: Buffer[] = [];
  let at = start;
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return null;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    if (Number.isNaN(size)) throw new Error("unreadable chunk size");
    const dataStart = lineEnd + 2;
    const next = dataStart + size + 2;
    if (bytes.length < next) return null;
    if (size === 0) return Buffer.concat(parts);
    parts.push(bytes.subarray(dataStart, dataStart + size));
    at = next;
  }
}

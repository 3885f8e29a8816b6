/**
 * Log lines are stored in blocks: the lines of one run from one report form one row. A block has the id of its last line; its
 * lines have consecutive ids in the order of arrival.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Primitive } from "#protocol/wire/feed";
import { levelBit } from "../write/batch.ts";

/** [task_run_id, level, logger, timestamp, message] */
export type LogLine = [task_run_id: number | null, level: number, logger: string, timestamp: number, message: string];

export interface LogBlock {
  /** Id of the last line. */
  id: number;
  run_id: number;
  attempt: number;
  count: number;
  level_mask: number;
  /** JSON text of the lines, or that text deflated. */
  lines: string | Uint8Array;
}

export interface LogBlocks {
  blocks: LogBlock[];
  /** Flat: run id, id of the last line, number of lines; one triple per entry of the decision, in order. */
  appended: number[];
  /** The id after the last one used. */
  nextLogId: number;
}

/** Size limits of a block: a reader unpacks a whole block to show one line. */
const BLOCK_LINES_MAX = 2_000;
const BLOCK_BYTES_MAX = 1024 * 1024;

/** Shorter text is stored unpacked, because deflating it costs more than the saved pages. */
const DEFLATE_BYTES_MIN = 4_096;
const DEFLATE_LEVEL = 1;

/** Values per entry of Decision.logs: run id, attempt, number of lines, level mask, lines. */
const ENTRY = 5;

/** Builds block rows from the log entries of a decision; `nextLogId` is the id of the first line. */
export function buildLogBlocks(entries: readonly Primitive[], nextLogId: number): LogBlocks {
  const result: LogBlocks = { blocks: [], appended: [], nextLogId };
  for (let at = 0; at < entries.length; at += ENTRY) {
    const run = Number(entries[at]);
    const attempt = Number(entries[at + 1]);
    const count = Number(entries[at + 2]);
    const mask = Number(entries[at + 3]);
    const lines = String(entries[at + 4]);
    if (count === 0) {
      result.appended.push(run, result.nextLogId - 1, 0);
    } else {
      if (count <= BLOCK_LINES_MAX && lines.length <= BLOCK_BYTES_MAX) addBlock(result, run, attempt, count, mask, lines);
      else splitEntry(result, run, attempt, JSON.parse(lines) as LogLine[]);
      result.appended.push(run, result.nextLogId - 1, count);
    }
  }
  return result;
}

function addBlock(result: LogBlocks, run: number, attempt: number, count: number, mask: number, lines: string): void {
  const id = result.nextLogId + count - 1;
  result.blocks.push({ id, run_id: run, attempt, count, level_mask: mask, lines: packLines(lines) });
  result.nextLogId = id + 1;
}

function splitEntry(result: LogBlocks, run: number, attempt: number, lines: readonly LogLine[]): void {
  let part: string[] = [];
  let bytes = 0;
  let mask = 0;
  const close = () => {
    if (part.length > 0) addBlock(result, run, attempt, part.length, mask, `[${part.join(",")}]`);
    part = [];
    bytes = 0;
    mask = 0;
  };
  for (const line of lines) {
    const text = JSON.stringify(line);
    if (part.length >= BLOCK_LINES_MAX || (part.length > 0 && bytes + text.length > BLOCK_BYTES_MAX)) close();
    part.push(text);
    bytes += text.length + 1;
    mask |= levelBit(line[1]);
  }
  close();
}

function packLines(lines: string): string | Uint8Array {
  return lines.length < DEFLATE_BYTES_MIN ? lines : deflateRawSync(lines, { level: DEFLATE_LEVEL });
}

/** The lines of a stored block. */
export function readLines(stored: string | Uint8Array): LogLine[] {
  return parseLines(linesText(stored));
}

/** What PostgreSQL's function log_text puts before the base64 of deflated lines; JSON text begins with a bracket. */
const DEFLATED = "d";

/** The JSON text of a stored block. */
export function linesText(stored: string | Uint8Array): string {
  if (typeof stored !== "string") return inflateRawSync(stored).toString("utf8");
  return stored.startsWith(DEFLATED) ? linesText(Buffer.from(stored.slice(DEFLATED.length), "base64")) : stored;
}

export function parseLines(text: string): LogLine[] {
  return JSON.parse(text) as LogLine[];
}

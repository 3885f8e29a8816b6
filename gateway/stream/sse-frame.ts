/** Server-sent event frames as text. */
import { STREAM_PIECE_BYTES_MAX } from "#protocol/limits";
import { readAhead } from "./read-ahead.ts";
import type { StreamFilter } from "./stream-filter.ts";
import { entityKey, eventName, type StreamEntry, type StreamRing } from "./stream-ring.ts";

/** Maximum messages per write while a reader catches up: each may need a row from the store. */
const CATCH_UP_MESSAGES_MAX = 256;

/** A comment without meaning; keeps an idle connection open. */
export const COMMENT_FRAME = ":\n\n";

export function helloFrame(latest: number, since: number): string {
  return `event: hello\ndata: {"latest":${latest},"since":${since}}\n\n`;
}

/** Asks a reader to fetch everything again, because messages were lost; the frame's number is where the stream continues. */
export function resyncFrame(latest: number): string {
  return `id: ${latest}\nevent: resync\ndata: {"latest":${latest}}\n\n`;
}

/** The run as it is now. Without a number, because it is no message of the stream. */
export function snapshotFrame(text: string): string {
  return `event: run.updated\ndata: ${text}\n\n`;
}

function messageFrame(entry: StreamEntry, text: string): string {
  return `id: ${entry.seq}\nevent: ${eventName(entry.kind)}\ndata: ${text}\n\n`;
}

/** A piece of the stream, and the number of the last message it covers. */
export interface Piece {
  frames: string;
  reached: number;
}

/** The content of a piece about one entity. */
interface Told {
  entry: StreamEntry;
  /** Null: nothing to send. */
  text: string | null;
  /** True when the text was made for this piece, so that it shows every message of the ring. */
  fresh: boolean;
}

/**
 * Messages after `after` that pass the filter, only the last one per entity and at that one's place, so that numbers only grow.
 * Ends with the newest message, or when the piece is full.
 */
export function coalescedFrames(ring: StreamRing, after: number, filter: StreamFilter | null): Piece {
  const shown = new Map<string, Told>();
  let length = 0;
  let seq = after;
  let ready = after;
  while (seq < ring.latest && length < STREAM_PIECE_BYTES_MAX) {
    if (seq === ready) ready = readAhead(ring, seq, ring.latest, filter);
    seq += 1;
    const entry = ring.at(seq);
    if (entry === undefined || filter?.passes(entry, ring) === false) continue;
    const key = entityKey(entry);
    const former = shown.get(key);
    const last = former === undefined ? told(entry, ring) : following(former, entry, ring);
    shown.delete(key);
    shown.set(key, last);
    length += (last.text?.length ?? 0) - (former?.text?.length ?? 0);
  }
  let frames = "";
  for (const { entry, text } of shown.values()) if (text !== null) frames += messageFrame(entry, text);
  return { frames, reached: seq };
}

function told(entry: StreamEntry, ring: StreamRing): Told {
  const fresh = entry.text === undefined;
  return { entry, text: ring.textOf(entry), fresh };
}

/**
 * Line counts of log messages add up; any other message is the state of a row, which is read once. A text made for readers of
 * another filter may be older than the last message.
 */
function following(former: Told, entry: StreamEntry, ring: StreamRing): Told {
  if (entry.kind === "log.appended") {
    const merged = { ...entry, count: former.entry.count + entry.count, text: undefined };
    return { entry: merged, text: ring.textOf(merged), fresh: true };
  }
  if (entry.kind !== former.entry.kind || !former.fresh) return told(entry, ring);
  entry.text = former.entry.text;
  return { entry, text: former.text, fresh: true };
}

/** A piece of backlog: every message after `after` that passes the filter, at most through `until`. */
export function backlogFrames(ring: StreamRing, after: number, until: number, filter: StreamFilter | null): Piece {
  const end = Math.min(until, after + CATCH_UP_MESSAGES_MAX);
  let frames = "";
  let seq = after;
  let ready = after;
  while (seq < end && frames.length < STREAM_PIECE_BYTES_MAX) {
    if (seq === ready) ready = readAhead(ring, seq, end, filter);
    seq += 1;
    const entry = ring.at(seq);
    if (entry === undefined || filter?.passes(entry, ring) === false) continue;
    const text = ring.textOf(entry);
    if (text !== null) frames += messageFrame(entry, text);
  }
  return { frames, reached: seq };
}

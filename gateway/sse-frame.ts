/** Server-sent event frames as text. */
import { STREAM_PIECE_BYTES_MAX } from "#protocol/limits";
import { entityKey, eventName, type StreamEntry, type StreamRing } from "./stream-ring.ts";

/** Most messages of one write while a reader catches up: each may need a row from the store. */
const CATCH_UP_MESSAGES_MAX = 256;

/** Means nothing: keeps a silent connection open. */
export const COMMENT_FRAME = ":\n\n";

export function helloFrame(latest: number, since: number): string {
  return `event: hello\ndata: {"latest":${latest},"since":${since}}\n\n`;
}

/** Tells a reader that messages were lost to it and to fetch everything again; its number is where it continues. */
export function resyncFrame(latest: number): string {
  return `id: ${latest}\nevent: resync\ndata: {"latest":${latest}}\n\n`;
}

function messageFrame(entry: StreamEntry, text: string): string {
  return `id: ${entry.seq}\nevent: ${eventName(entry.kind)}\ndata: ${text}\n\n`;
}

/** A piece of the stream, and the number up to which it tells everything. */
export interface Piece {
  frames: string;
  reached: number;
}

/** What a piece says of one entity. */
interface Told {
  entry: StreamEntry;
  /** Null: nothing to send. */
  text: string | null;
}

/**
 * Messages after `after`, of each entity only the last, at the last one's place: numbers only grow. It ends with the newest
 * message, or where the piece is full.
 */
export function coalescedFrames(ring: StreamRing, after: number): Piece {
  const told = new Map<string, Told>();
  let length = 0;
  let seq = after;
  while (seq < ring.latest && length < STREAM_PIECE_BYTES_MAX) {
    seq += 1;
    const entry = ring.at(seq);
    if (entry === undefined) continue;
    const key = entityKey(entry);
    const former = told.get(key);
    const last = former === undefined ? { entry, text: ring.textOf(entry) } : following(former, entry, ring);
    told.delete(key);
    told.set(key, last);
    length += (last.text?.length ?? 0) - (former?.text?.length ?? 0);
  }
  let frames = "";
  for (const { entry, text } of told.values()) if (text !== null) frames += messageFrame(entry, text);
  return { frames, reached: seq };
}

/** Line counts of log messages add up, everything else is the state of a row, which is read once. */
function following(former: Told, entry: StreamEntry, ring: StreamRing): Told {
  if (entry.kind === "log.appended") {
    const merged = { ...entry, count: former.entry.count + entry.count, text: undefined };
    return { entry: merged, text: ring.textOf(merged) };
  }
  if (entry.kind !== former.entry.kind) return { entry, text: ring.textOf(entry) };
  entry.text = former.entry.text;
  return { entry, text: former.text };
}

/** A piece of backlog: each message by itself, from after `after` up to at most `until`; says how far it got. */
export function backlogFrames(ring: StreamRing, after: number, until: number): Piece {
  const end = Math.min(until, after + CATCH_UP_MESSAGES_MAX);
  let frames = "";
  let seq = after;
  while (seq < end && frames.length < STREAM_PIECE_BYTES_MAX) {
    seq += 1;
    const entry = ring.at(seq);
    const text = entry === undefined ? null : ring.textOf(entry);
    if (entry !== undefined && text !== null) frames += messageFrame(entry, text);
  }
  return { frames, reached: seq };
}

/** Server-sent event frames as text. */
import { entityKey, eventName, type StreamEntry, type StreamRing } from "./stream-ring.ts";

/** Longest text of one write while a reader catches up: one large write at a time, then others get their turn. */
const CATCH_UP_TEXT_MAX = 256 * 1024;
/** Most messages of one such write: each may need a row from the store. */
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

/** Messages after `after` up to the newest, of each entity only the last, at the last one's place: numbers only grow. */
export function coalescedFrames(ring: StreamRing, after: number): string {
  const last = new Map<string, StreamEntry>();
  for (let seq = after + 1; seq <= ring.latest; seq += 1) {
    const entry = ring.at(seq);
    if (entry === undefined) continue;
    const key = entityKey(entry);
    const former = last.get(key);
    last.delete(key);
    last.set(key, former === undefined ? entry : merged(former, entry));
  }
  let frames = "";
  for (const entry of last.values()) {
    const text = ring.textOf(entry);
    if (text !== null) frames += messageFrame(entry, text);
  }
  return frames;
}

/** Line counts of log messages add up, everything else is the state of a row, of which the last counts. */
function merged(former: StreamEntry, entry: StreamEntry): StreamEntry {
  if (entry.kind !== "log.appended") return entry;
  return { ...entry, count: former.count + entry.count, text: undefined };
}

/** A piece of backlog: each message by itself, from after `after` up to at most `until`; says how far it got. */
export function backlogFrames(ring: StreamRing, after: number, until: number): { frames: string; reached: number } {
  const end = Math.min(until, after + CATCH_UP_MESSAGES_MAX);
  let frames = "";
  let seq = after;
  while (seq < end && frames.length < CATCH_UP_TEXT_MAX) {
    seq += 1;
    const entry = ring.at(seq);
    const text = entry === undefined ? null : ring.textOf(entry);
    if (entry !== undefined && text !== null) frames += messageFrame(entry, text);
  }
  return { frames, reached: seq };
}

/**
 * The newest stream messages, by number: the row of each message, and its text once a reader has needed it.
 *
 * A message carries only (kind, id). Its JSON is made from the store on first use, by the functions that make GET answers,
 * and cached for further readers. If the row was deleted before, the message is left out.
 */

import { STREAM_RING_COUNT } from "#protocol/limits";
import { type Committed, STREAM_CODE, STREAM_KINDS, type StreamKind } from "#protocol/wire/feed";
import type { MessageSubject } from "#storage/queries/message-subject";

/** Longer texts are not cached, so that 4096 artifacts of 1 MB cannot fill the memory. */
const KEPT_TEXT_MAX = 16 * 1024;

/** One stream message. An entry of the ring holds another message later: it is read at once and never kept. */
export interface StreamEntry {
  seq: number;
  kind: StreamKind;
  /** The row: an id, or the name of a variable. */
  id: number | string;
  /** log.appended only: the newest line and the number of lines. */
  last_id: number;
  count: number;
  /** JSON of the message's data; null: nothing to send; undefined: not made yet. */
  text: string | null | undefined;
  /** What the message is about, once a filter has asked; null: the row was deleted. */
  subject: MessageSubject | null | undefined;
}

/** JSON of a row as in GET, or null for a deleted row. */
export type RenderRow = (kind: StreamKind, id: number | string) => string | null;

/** What a row belongs to, or null for a deleted row. */
export type ReadSubject = (kind: StreamKind, id: number | string) => MessageSubject | null;

/** Event names on the wire: deletions are sent as updates that hold `deleted`. */
const EVENT_NAMES = new Map<StreamKind, string>(STREAM_KINDS.map((kind) => [kind, kind.replace(/\.deleted$/, ".updated")]));

export function eventName(kind: StreamKind): string {
  return EVENT_NAMES.get(kind) ?? kind;
}

export class StreamRing {
  readonly #render: RenderRow;
  readonly #readSubject: ReadSubject;
  readonly #entries: (StreamEntry | undefined)[] = new Array<StreamEntry | undefined>(STREAM_RING_COUNT).fill(undefined);
  #latest = 0;
  /** From this number on there is no gap. */
  #first = 1;

  constructor(render: RenderRow, readSubject: ReadSubject) {
    this.#render = render;
    this.#readSubject = readSubject;
  }

  /** The newest number. */
  get latest(): number {
    return this.#latest;
  }

  /** The oldest number that can still be replayed. */
  get oldest(): number {
    return Math.max(this.#first, this.#latest - STREAM_RING_COUNT + 1);
  }

  /** Starts empty: the next message has the number after `latest`. */
  continueAfter(latest: number): void {
    this.#latest = latest;
    this.#first = latest + 1;
  }

  /** Appends the messages of a commit. False when earlier numbers are missing, so that no reader can catch up. */
  append(commit: Committed): boolean {
    // A commit without messages holds the current number, or 0 for none.
    if (commit.stream.length === 0 && commit.first_seq === 0) return true;
    // A repeated commit: the writers were restarted before the core received the acknowledgement.
    if (commit.stream.length > 0 && commit.first_seq + commit.stream.length / 2 - 1 <= this.#latest) return true;
    const seamless = commit.first_seq === this.#latest + 1;
    if (!seamless) {
      this.#entries.fill(undefined);
      this.#first = commit.first_seq;
      this.#latest = commit.first_seq - 1;
    }
    let eventId = commit.first_event_id;
    let logIndex = 0;
    for (let index = 0; index < commit.stream.length; index += 2) {
      const kind = STREAM_KINDS[Number(commit.stream[index])];
      if (kind === undefined) throw new Error(`stream kind ${String(commit.stream[index])} is not known`);
      const entry = this.#put(kind, idOf(commit.stream[index + 1]));
      if (kind === "event.created") {
        entry.id = eventId;
        eventId += 1;
      } else if (kind === "log.appended") {
        entry.id = commit.logs[logIndex] ?? 0;
        entry.last_id = commit.logs[logIndex + 1] ?? 0;
        entry.count = commit.logs[logIndex + 2] ?? 0;
        logIndex += 3;
      }
    }
    return seamless;
  }

  /** The message with this number, if it is still in the ring. */
  at(seq: number): StreamEntry | undefined {
    return seq < this.oldest || seq > this.#latest ? undefined : this.#entries[seq % STREAM_RING_COUNT];
  }

  /** The JSON of a message's data on one line, or null when there is nothing to send. */
  textOf(entry: StreamEntry): string | null {
    if (entry.text !== undefined) return entry.text;
    const text = this.#make(entry);
    if (text === null || text.length <= KEPT_TEXT_MAX) entry.text = text;
    return text;
  }

  /** What the message is about: read once, for all filters. */
  readonly subjectOf = (entry: StreamEntry): MessageSubject | null => {
    if (entry.subject === undefined) entry.subject = this.#readSubject(entry.kind, entry.id);
    return entry.subject;
  };

  /** The run as it is now, on one line; a deletion if it does not exist. */
  runText(id: number): string {
    return onOneLine(this.#render("run.updated", id)) ?? JSON.stringify({ id, deleted: true });
  }

  #put(kind: StreamKind, id: number | string): StreamEntry {
    this.#latest += 1;
    const place = this.#latest % STREAM_RING_COUNT;
    // An entry is used again for the message that takes its place: no message becomes garbage.
    const entry = this.#entries[place] ?? newEntry();
    this.#entries[place] = entry;
    entry.seq = this.#latest;
    entry.kind = kind;
    entry.id = id;
    entry.last_id = 0;
    entry.count = 0;
    entry.text = undefined;
    entry.subject = undefined;
    return entry;
  }

  #make(entry: StreamEntry): string | null {
    switch (entry.kind) {
      case "run.deleted":
      case "rule.deleted":
      case "schedule.deleted":
        return JSON.stringify({ id: entry.id, deleted: true });
      case "variable.deleted":
        return JSON.stringify({ name: entry.id, deleted: true });
      case "log.appended":
        return JSON.stringify({ run_id: entry.id, last_id: entry.last_id, count: entry.count });
      default:
        return onOneLine(this.#render(entry.kind, entry.id));
    }
  }
}

function newEntry(): StreamEntry {
  return { seq: 0, kind: "event.created", id: 0, last_id: 0, count: 0, text: undefined, subject: undefined };
}

/** Messages with the same key are about the same entity: of messages close together, only the last is sent. */
export function entityKey(entry: StreamEntry): string {
  return `${STREAM_CODE[eventName(entry.kind) as StreamKind]} ${entry.id}`;
}

/** Line breaks in JSON text are only layout, but would end a frame's line. */
function onOneLine(text: string | null): string | null {
  return text !== null && /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, " ") : text;
}

function idOf(value: unknown): number | string {
  return typeof value === "string" ? value : Number(value);
}

/**
 * The newest stream messages, by number: the row of each message, and its text once a reader has needed it.
 *
 * A message carries only (kind, id). Its JSON is made from the store on first use, by the functions that make GET answers,
 * and cached for further readers. If the row was deleted before, the message is left out.
 */

import { STREAM_RING_COUNT } from "#protocol/limits";
import { type Committed, KINDS_OF_RUNS, STREAM_CODE, STREAM_KINDS, type StreamKind } from "#protocol/wire/feed";
import type { MessageSubject } from "#storage/queries/message-subject";
import type { MessageFacts } from "./stream-filter.ts";

/** Longer texts are not cached, so that 4096 artifacts of 1 MB cannot fill the memory. */
const KEPT_TEXT_MAX = 16 * 1024;

/** Runs whose subjects are kept: those of the messages in the ring, at most. */
const KEPT_SUBJECTS_MAX = STREAM_RING_COUNT;

/** One stream message. An entry of the ring holds another message later: it is read at once and never kept. */
export interface StreamEntry {
  seq: number;
  kind: StreamKind;
  id: number | string;
  /** The run that the message belongs to, or 0 if it has none or the run has to be read. */
  run: number;
  /** Of log.appended only. */
  last_id: number;
  count: number;
  /** JSON of the data once it has been rendered and is short; null: nothing to send. */
  text: string | null | undefined;
  /** What the message is about, once a filter has asked and the run does not tell; null: the row was deleted. */
  subject: MessageSubject | null | undefined;
  /** Name of the event, once it was read for a filter; null if the row was deleted. */
  name: string | null | undefined;
}

/** Reads the rows behind messages, one or many at once. */
export interface MessageRows {
  /** JSON of a row as in GET, or null for a deleted row. */
  render(kind: StreamKind, id: number | string): string | null;
  /** What a row belongs to, or null for a deleted row. */
  subject(kind: StreamKind, id: number | string): MessageSubject | null;
  /** JSON of the rows of a kind of message that shows a row; of rows that do not exist, and of some others, none. */
  texts(kind: StreamKind, ids: readonly number[]): ReadonlyMap<number, string>;
  /** Subjects of the runs that exist. */
  subjects(runs: readonly number[]): ReadonlyMap<number, MessageSubject>;
  /** Names of the events that exist. */
  eventNames(ids: readonly number[]): ReadonlyMap<number, string>;
}

/** Event names on the wire: deletions are sent as updates that hold `deleted`. */
const EVENT_NAMES = new Map<StreamKind, string>(STREAM_KINDS.map((kind) => [kind, kind.replace(/\.deleted$/, ".updated")]));

export function eventName(kind: StreamKind): string {
  return EVENT_NAMES.get(kind) ?? kind;
}

export class StreamRing implements MessageFacts {
  readonly rows: MessageRows;
  readonly #entries: (StreamEntry | undefined)[] = new Array<StreamEntry | undefined>(STREAM_RING_COUNT).fill(undefined);
  /** Subjects of runs that exist, by id. */
  readonly #subjects = new Map<number, MessageSubject>();
  #latest = 0;
  /** From this number on there is no gap. */
  #first = 1;

  constructor(rows: MessageRows) {
    this.rows = rows;
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
    this.#putAll(commit);
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
    this.keep(entry, text);
    return text;
  }

  /** Keeps the text of a message unless the text is long. */
  keep(entry: StreamEntry, text: string | null): void {
    if (text === null || text.length <= KEPT_TEXT_MAX) entry.text = text;
  }

  /** What a message belongs to; null if the row was deleted. */
  ownerOf(entry: StreamEntry): MessageSubject | null {
    const ofRun = entry.run === 0 ? null : this.#subjectOfRun(entry.run);
    if (ofRun !== null) return ofRun;
    if (entry.subject === undefined) entry.subject = this.rows.subject(entry.kind, entry.id);
    return entry.subject;
  }

  nameOf(entry: StreamEntry): string | null {
    return entry.name ?? null;
  }

  /** Whether the subject of a run is known without a read. */
  knowsRun(run: number): boolean {
    return this.#subjects.has(run);
  }

  keepSubject(run: number, subject: MessageSubject): void {
    if (this.#subjects.size >= KEPT_SUBJECTS_MAX) this.#subjects.clear();
    this.#subjects.set(run, subject);
  }

  /** The run as it is now, on one line; a deletion if it does not exist. */
  runText(id: number): string {
    return onOneLine(this.rows.render("run.updated", id)) ?? JSON.stringify({ id, deleted: true });
  }

  #putAll({ stream, runs, logs, first_event_id }: Committed): void {
    let eventId = first_event_id;
    let runIndex = 0;
    let logIndex = 0;
    for (let index = 0; index < stream.length; index += 2) {
      const kind = STREAM_KINDS[Number(stream[index])];
      if (kind === undefined) throw new Error(`stream kind ${String(stream[index])} is not known`);
      const entry = this.#put(kind, idOf(stream[index + 1]));
      if (kind === "event.created") {
        entry.id = eventId;
        eventId += 1;
      } else if (kind === "log.appended") {
        entry.id = logs[logIndex] ?? 0;
        entry.last_id = logs[logIndex + 1] ?? 0;
        entry.count = logs[logIndex + 2] ?? 0;
        logIndex += 3;
      } else if (kind === "run.deleted") this.#subjects.delete(Number(entry.id));
      if (kind === "run.updated" || kind === "log.appended") entry.run = Number(entry.id);
      else if (KINDS_OF_RUNS.has(kind)) {
        entry.run = runs[runIndex] ?? 0;
        runIndex += 1;
      }
    }
  }

  #subjectOfRun(run: number): MessageSubject | null {
    const known = this.#subjects.get(run);
    if (known !== undefined) return known;
    const subject = this.rows.subject("run.updated", run);
    if (subject !== null) this.keepSubject(run, subject);
    return subject;
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
    entry.run = 0;
    entry.last_id = 0;
    entry.count = 0;
    entry.text = undefined;
    entry.subject = undefined;
    entry.name = undefined;
    return entry;
  }

  #make({ kind, id, last_id, count }: StreamEntry): string | null {
    if (showsRow(kind)) return onOneLine(this.rows.render(kind, id));
    if (kind === "log.appended") return JSON.stringify({ run_id: id, last_id, count });
    return JSON.stringify(kind === "variable.deleted" ? { name: id, deleted: true } : { id, deleted: true });
  }
}

function newEntry(): StreamEntry {
  const nothing = { text: undefined, subject: undefined, name: undefined };
  return { seq: 0, kind: "event.created", id: 0, run: 0, last_id: 0, count: 0, ...nothing };
}

/** Whether the text of such a message is a row of the store; the others hold what they tell. */
export function showsRow(kind: StreamKind): boolean {
  return kind !== "log.appended" && !kind.endsWith(".deleted");
}

/** Messages with the same key are about the same entity: of messages close together, only the last is sent. */
export function entityKey(entry: StreamEntry): string {
  return `${STREAM_CODE[eventName(entry.kind) as StreamKind]} ${entry.id}`;
}

/** Line breaks in JSON text are only layout, but would end a frame's line. */
export function onOneLine(text: string | null): string | null {
  return text !== null && /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, " ") : text;
}

function idOf(value: unknown): number | string {
  return typeof value === "string" ? value : Number(value);
}

/**
 * Reads what stream messages need before their turn comes, many with one statement: that costs half in SQLite, and in PostgreSQL
 * the gateway would otherwise wait for a round trip for each message, and serve no other connection.
 */
import type { StreamFilter } from "./stream-filter.ts";
import { onOneLine, type StreamEntry, type StreamRing, showsRow } from "./stream-ring.ts";

/** Messages read together: some two pieces of the stream. */
const TOGETHER_MAX = 256;

/**
 * Reads for the next messages after `after` and at most through `end`, which readers of the filter get; returns the number through
 * which messages are ready.
 */
export function readAhead(ring: StreamRing, after: number, end: number, filter: StreamFilter | null): number {
  const until = Math.min(end, after + TOGETHER_MAX);
  const entries: StreamEntry[] = [];
  for (let seq = after + 1; seq <= until; seq += 1) {
    const entry = ring.at(seq);
    if (entry !== undefined) entries.push(entry);
  }
  if (filter !== null) {
    readNames(ring, entries, filter);
    readOwners(ring, entries, filter);
  }
  const passing = filter === null ? entries : entries.filter((entry) => filter.passes(entry, ring));
  readTexts(ring, passing);
  return until;
}

/** Of those events about whose names the filter asks. */
function readNames({ rows }: StreamRing, entries: readonly StreamEntry[], filter: StreamFilter): void {
  const asked: StreamEntry[] = [];
  const nameOf = (entry: StreamEntry) => {
    if (entry.name === undefined) asked.push(entry);
    return null;
  };
  for (const entry of entries) filter.passes(entry, { nameOf, ownerOf: () => null });
  if (asked.length === 0) return;
  const names = rows.eventNames(asked.map(({ id }) => Number(id)));
  for (const entry of asked) entry.name = names.get(Number(entry.id)) ?? null;
}

/** Of those runs about whose flows, projects and tags the filter asks. */
function readOwners(ring: StreamRing, entries: readonly StreamEntry[], filter: StreamFilter): void {
  const asked = new Set<number>();
  const ownerOf = ({ run }: StreamEntry) => {
    if (run !== 0 && !ring.knowsRun(run)) asked.add(run);
    return null;
  };
  for (const entry of entries) filter.passes(entry, { nameOf: (named) => ring.nameOf(named), ownerOf });
  if (asked.size === 0) return;
  for (const [run, subject] of ring.rows.subjects([...asked])) ring.keepSubject(run, subject);
}

function readTexts(ring: StreamRing, entries: readonly StreamEntry[]): void {
  const unread = entries.filter(({ kind, text }) => text === undefined && showsRow(kind));
  for (const kind of new Set(unread.map((entry) => entry.kind))) {
    const ofKind = unread.filter((entry) => entry.kind === kind);
    const ids = new Set(ofKind.map(({ id }) => Number(id)));
    const texts = ring.rows.texts(kind, [...ids]);
    for (const entry of ofKind) {
      const text = onOneLine(texts.get(Number(entry.id)) ?? null);
      // A row that is missing here is read by itself when its turn comes.
      if (text !== null) ring.keep(entry, text);
    }
  }
}

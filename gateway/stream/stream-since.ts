/** What a reader of the stream asks for: its filter, and where it continues (`since` or Last-Event-ID, whichever is larger). */
import { type Refusal, refuse } from "#protocol/errors";
import { StreamQuery } from "#protocol/records/server";
import { parseQuery } from "#protocol/routes/query";
import { compileFilter, type StreamFilter } from "./stream-filter.ts";

export type StreamStart = { ok: true; since: number | null; filter: StreamFilter | null } | { ok: false; refusal: Refusal };

/** 18 digits always fit into an int64. */
const DIGITS = /^\d{1,18}$/;

export function streamStart(query: string, lastEventId: string): StreamStart {
  const parsed = parseQuery(StreamQuery, query);
  if (!parsed.ok) return parsed;
  const since = parsed.query.since ?? null;
  if (since !== null && since < 0) return { ok: false, refusal: refuse("bad_query", "since", "an integer of at least 0") };
  // Browsers return the number they were given; any other value is from another stream and is ignored.
  const last = DIGITS.test(lastEventId) ? Number(lastEventId) : null;
  const compiled = compileFilter(parsed.query);
  if (!compiled.ok) return compiled;
  const { filter } = compiled;
  if (since === null || last === null) return { ok: true, since: since ?? last, filter };
  return { ok: true, since: Math.max(since, last), filter };
}

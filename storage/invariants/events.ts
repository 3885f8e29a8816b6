/** I6: the numbers of events have no gaps, and I7: what readers of the stream see, which leaves nothing to look at. */
import { STRETCH_IDS } from "../codes.ts";
import { readCounters } from "../counters.ts";
import { findRows, type Invariant } from "./invariant.ts";

/** A stretch that has no event at all is about to be forgotten. */
export const EVENTS_WITHOUT_GAPS: Invariant = {
  id: "I6",
  title: "each move has its event, in commit order, numbered without gaps or repeats",
  unchecked: "events older than the retention are deleted, in whole stretches",
  check(statements) {
    const last = readCounters(statements).events;
    const expected = `min(${STRETCH_IDS}, ${last} - t.stretch * ${STRETCH_IDS} + 1) - (t.stretch = 0)`;
    const sql = `SELECT t.stretch * ${STRETCH_IDS}, ${expected} - (SELECT count(*) FROM events e
        WHERE e.id >= t.stretch * ${STRETCH_IDS} AND e.id < (t.stretch + 1) * ${STRETCH_IDS}) AS missing
      FROM event_times t WHERE missing NOT IN (0, ${expected})`;
    return findRows<[number, number]>(
      statements,
      sql,
      ([first, missing]) => `${missing} events are missing among those from ${first} to ${first + STRETCH_IDS - 1}`,
    );
  },
};

export const STREAM_COMPLETE: Invariant = {
  id: "I7",
  title: "a reader of the stream sees each message once, or is told to read anew",
  unchecked: "only a reader of the stream can tell",
  check: () => [],
};

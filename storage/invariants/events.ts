/** I6: event numbers have no gaps, and I7: what readers of the stream receive, which leaves no trace to check. */

import { type EventGap, readEventGaps } from "../load/event-gaps.ts";
import { STRETCH_IDS } from "../schema/codes.ts";
import { readCounters } from "../write/counters.ts";
import { type Invariant, told } from "./invariant.ts";

const COUNTS = `SELECT stretch, (SELECT count(*) FROM events WHERE id >= stretch * ${STRETCH_IDS} AND id < (stretch + 1) * ${STRETCH_IDS})
  FROM event_times ORDER BY stretch`;

export const EVENTS_WITHOUT_GAPS: Invariant = {
  id: "I6",
  title: "each move has its event, in commit order, numbered without gaps or repeats",
  unchecked: "events older than the retention are deleted, in whole stretches",
  check(statements) {
    const gaps: EventGap[] = [
      [0, 0],
      ...readEventGaps(statements),
      [readCounters(statements).events + 1, Number.MAX_SAFE_INTEGER],
    ];
    return told(
      statements
        .raw<[number, number]>(COUNTS)
        .all()
        .flatMap(([stretch, found]) => {
          const first = stretch * STRETCH_IDS;
          const missing = STRETCH_IDS - missingRightly(gaps, first) - found;
          // A stretch without events is about to be trimmed.
          if (missing === 0 || found === 0) return [];
          return [`${missing} events are missing among those from ${first} to ${first + STRETCH_IDS - 1}`];
        }),
    );
  },
};

/** Ids of the stretch that legitimately have no event: id 0, ids not yet assigned, ids assigned before a restore. */
function missingRightly(gaps: readonly EventGap[], first: number): number {
  const last = first + STRETCH_IDS - 1;
  return gaps.reduce((sum, [from, to]) => sum + Math.max(0, Math.min(to, last) - Math.max(from, first) + 1), 0);
}

export const STREAM_COMPLETE: Invariant = {
  id: "I7",
  title: "a reader of the stream sees each message once, or is told to read everything again",
  unchecked: "only a reader of the stream can tell",
  check: null,
};

/** Event ids that are legitimately missing: they were assigned after the backup that the store was restored from. */

import type { Statements } from "../sqlite/statements.ts";
import { readCounters } from "../write/counters.ts";

const SETTING = "event_gaps";
const PUT = "INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value";

/** First and last missing id. */
export type EventGap = [first: number, last: number];

export function readEventGaps(statements: Statements): EventGap[] {
  const row = statements.raw<[string]>("SELECT value FROM settings WHERE name = ?").get(SETTING);
  return row === undefined ? [] : (JSON.parse(row[0]) as EventGap[]);
}

/** Records that the next event will have an id above `last`; call before raising the counter to `last`. */
export function noteEventGap(statements: Statements, last: number): void {
  const first = readCounters(statements).events + 1;
  if (last < first) return;
  const gaps = JSON.stringify([...readEventGaps(statements), [first, last]]);
  statements.raw(PUT).run(SETTING, gaps);
}

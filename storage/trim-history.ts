/** Retention: deletes old events and log lines in slices, so that no commit waits long for it. */
import { STRETCH_IDS } from "./codes.ts";
import type { Statements } from "./statements.ts";

/** Log blocks deleted with one stretch of events. */
const BLOCKS_MAX = 1_000;
/** Free pages given back to the file system with each slice. */
const VACUUM_PAGES = 256;

const OLD_STRETCHES = `SELECT stretch, log_id FROM event_times
  WHERE occurred_max < ? AND (stretch + 1) * ${STRETCH_IDS} - 1 <= ? ORDER BY stretch LIMIT ?`;
const DELETE_EVENTS = "DELETE FROM events WHERE id BETWEEN ? AND ?";
const DELETE_BLOCKS = "DELETE FROM log_blocks WHERE id IN (SELECT id FROM log_blocks WHERE id <= ? ORDER BY id LIMIT ?)";

/** Deletes up to `stretches` whole stretches of events from before `beforeUs`, none above `lastEvent`, with their log lines. */
export function trimHistory(statements: Statements, beforeUs: number, lastEvent: number, stretches: number): void {
  for (const [stretch, logId] of statements.raw<[number, number]>(OLD_STRETCHES).all(beforeUs, lastEvent, stretches)) {
    const first = stretch * STRETCH_IDS;
    statements.raw(DELETE_EVENTS).run(first, first + STRETCH_IDS - 1);
    const { changes } = statements.raw(DELETE_BLOCKS).run(logId, BLOCKS_MAX);
    // The rest of its lines is for the next slice.
    if (Number(changes) >= BLOCKS_MAX) break;
    statements.raw("DELETE FROM event_times WHERE stretch = ?").run(stretch);
  }
  statements.database.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);
}

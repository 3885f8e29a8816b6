/**
 * Committed events that may settle a wait of a lineage: later than its first start, or that of the lineage from which it was
 * forked, and not used by a wait that it sees.
 */
import { lineagesSeen } from "../queries/lineages-seen.ts";
import { STRETCH_IDS, STRETCH_KIND } from "../schema/codes.ts";
import type { Statements } from "../sqlite/statements.ts";
import { SELECT_SEEN, type SeenEvent, type SeenRow, seen as seenEventOf } from "./load-events.ts";

/** Events of a name after one id and up to another that may settle a wait of a lineage, the oldest first. */
export function* eventsBefore(
  statements: Statements,
  { name, lineage, after, to }: { name: string; lineage: number; after: number; to: number },
): Generator<SeenEvent> {
  const codeOf = (text: string): number | null =>
    statements.raw<[number]>("SELECT id FROM names WHERE name = ?").get(text)?.[0] ?? null;
  const code = codeOf(name);
  const seen = lineagesSeen(statements, lineage);
  const names = { running: codeOf("run.running"), scheduled: codeOf("run.scheduled") };
  const first = seen.map((each) => firstStart(statements, each.lineage, names)).findLast((start) => start !== null) ?? null;
  if (code === null || first === null) return;
  const found = "SELECT stretch FROM stretches WHERE kind = ? AND value = ? AND stretch BETWEEN ? AND ? ORDER BY stretch";
  const start = Math.max(first, after) + 1;
  const range = [Math.floor(start / STRETCH_IDS), Math.floor(to / STRETCH_IDS)] as const;
  const stretches = statements.raw<[number]>(found).all(STRETCH_KIND.event_name, code, ...range);
  const settledBy = "SELECT event_id FROM waits WHERE lineage_id = ? AND created_at < ? AND event_id BETWEEN ? AND ?";
  const used = new Set(
    seen.flatMap((each) => statements.raw<[number]>(settledBy).all(each.lineage, each.time, start, to).flat()),
  );
  const sql = `${SELECT_SEEN} WHERE e.id BETWEEN ? AND ? AND e.name = ? ORDER BY e.id`;
  for (const [stretch] of stretches) {
    const from = Math.max(start, stretch * STRETCH_IDS);
    const end = Math.min(to, stretch * STRETCH_IDS + STRETCH_IDS - 1);
    for (const row of statements.raw<SeenRow>(sql).iterate(from, end, code)) {
      if (!used.has(row[0])) yield seenEventOf(statements, row);
    }
  }
}

/** Whether `eventsBefore` has this event. */
export function isEventOf(statements: Statements, lineage: number, { id, name }: { id: number; name: string }): boolean {
  for (const event of eventsBefore(statements, { name, lineage, after: id - 1, to: id })) return event.id === id;
  return false;
}

/** Codes of the names of events. */
interface StartEvents {
  running: number | null;
  scheduled: number | null;
}

/**
 * Id of the event of the first start of a lineage, which has the id of its first run; null for a lineage that has not started.
 * A run that crashed before its start may have been run again.
 */
function firstStart(statements: Statements, lineage: number, names: StartEvents): number | null {
  const first = startOf(statements, lineage, names);
  if (first !== null) return first;
  const sql = "SELECT min(id) FROM runs WHERE lineage_id = ? AND start_time IS NOT NULL";
  const run = statements.raw<[number | null]>(sql).get(lineage)?.[0] ?? null;
  return run === null ? null : startOf(statements, run, names);
}

/**
 * Id of the event of the first start of a run; null for a run that has not started. 0 if retention has deleted that event: all
 * events that are left came later.
 */
function startOf(statements: Statements, run: number, { running, scheduled }: StartEvents): number | null {
  const kept = statements
    .raw<[id: number, occurred: number]>("SELECT id, occurred FROM events WHERE run_id = ? AND name = ? ORDER BY id LIMIT 1")
    .get(run, running);
  const [started] = statements.raw<[number | null]>("SELECT start_time FROM runs WHERE id = ?").get(run) ?? [];
  if (started === null) return null;
  if (started === undefined && kept === undefined) {
    // A deleted run. If its first event is left, retention has deleted none of them, and the run never started.
    const [first] = statements.raw<[number]>("SELECT name FROM events WHERE run_id = ? ORDER BY id LIMIT 1").get(run) ?? [];
    return first === scheduled ? null : 0;
  }
  return kept === undefined || (started !== undefined && kept[1] !== started) ? 0 : kept[0];
}

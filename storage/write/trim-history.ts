/**
 * Retention: deletes old rows in slices, so that no commit is delayed for long. Events and log lines are deleted together, by
 * stretches of event ids; then ended rows of rules, and unused parts of coarse indexes and counts.
 *
 * SQLite only: PRAGMA (the database vacuums by itself), json_extract (a column that the writer fills).
 */
import { ENDED_CODES, STRETCH_IDS, STRETCH_KIND } from "../schema/codes.ts";
import type { Statements } from "../sqlite/statements.ts";
import { HOUR_US } from "./ended-counts.ts";
import type { RowOf } from "./ops.ts";

/** Rows of one kind (log blocks, firings and others) deleted per slice. */
export const ROWS_PER_SLICE = 1_000;
/** Free pages returned to the file system with each slice: one MiB, which takes some milliseconds. */
const VACUUM_PAGES = 256;
/** Free pages kept for later writes. */
const FREE_PAGES_KEPT = 1_024;
/** Statistics look back 31 days at most. */
export const COUNTS_KEPT_HOURS = 32 * 24;

const OLD_STRETCHES = `SELECT stretch, log_id FROM event_times
  WHERE coalesce(received_max, occurred_max) < ? AND (stretch + 1) * ${STRETCH_IDS} - 1 <= ? ORDER BY stretch LIMIT ?`;
const OLD_BLOCKS = "SELECT id FROM log_blocks WHERE id <= ? ORDER BY id LIMIT ?";

/**
 * The resource kind of an event that stores none: events of task runs have a state, events sent from inside a task have none.
 */
const RESOURCE_KIND = `coalesce(json_extract(resource, '$.kind'),
  CASE WHEN task_run_id IS NULL OR state_type IS NULL THEN 'run' ELSE 'task_run' END)`;
/** The coarse index entries of a stretch of events, computed from the events. */
const UNINDEX = [
  [STRETCH_KIND.event_name, "SELECT DISTINCT name FROM events WHERE id BETWEEN ? AND ?"],
  [STRETCH_KIND.event_flow, "SELECT DISTINCT flow_id FROM events WHERE flow_id IS NOT NULL AND id BETWEEN ? AND ?"],
  [
    STRETCH_KIND.event_resource,
    `SELECT id FROM names WHERE name IN (SELECT ${RESOURCE_KIND} FROM events WHERE id BETWEEN ? AND ?)`,
  ],
] as const;

/** Ended rows of rules, deleted by age; ids grow with time, so only the first ROWS_PER_SLICE rows are checked. */
const ENDED_ROWS: readonly { table: string; ended: string; time: string }[] = [
  { table: "firings", ended: "pending IS NULL", time: "timestamp" },
  { table: "expectations", ended: "status <> 'open'", time: "deadline" },
];

/** `fired` keeps the runs that exist, and deleted runs with an event that rules have not processed. */
const OLD_FIRED = `SELECT run_id, rule_id FROM fired
  WHERE run_id < coalesce((SELECT min(id) FROM runs), (SELECT value FROM counters WHERE name = 'runs'))
    AND NOT EXISTS (SELECT 1 FROM events e WHERE e.run_id = fired.run_id AND e.id > ?) LIMIT ${ROWS_PER_SLICE}`;

function oldRows({ table, ended, time }: (typeof ENDED_ROWS)[number]): string {
  const first = `SELECT id, ${time} AS time FROM ${table} WHERE ${ended} ORDER BY id LIMIT ${ROWS_PER_SLICE}`;
  return `SELECT id FROM (${first}) AS oldest WHERE time < ?`;
}

/** Deletes one slice of rows from before a time: at most `stretches` stretches of events, none above `last_event`. */
export function trimHistory(statements: Statements, { before, last_event, stretches }: RowOf<"trim_history">): void {
  for (const [stretch, logId] of statements.raw<[number, number]>(OLD_STRETCHES).all(before, last_event, stretches))
    if (!deleteStretch(statements, stretch, logId)) break;
  for (const rows of ENDED_ROWS) statements.raw(`DELETE FROM ${rows.table} WHERE id IN (${oldRows(rows)})`).run(before);
  deleteOldCounts(statements, before);
  deleteRunIndexes(statements);
  statements.raw(`DELETE FROM fired WHERE (run_id, rule_id) IN (${OLD_FIRED})`).run(last_event);
  statements.database.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);
}

/** True while trimHistory with the same bounds has rows to delete. */
export function hasOldHistory(statements: Statements, beforeUs: number, lastEvent: number): boolean {
  if (statements.raw(OLD_STRETCHES).get(beforeUs, lastEvent, 1) !== undefined) return true;
  if (ENDED_ROWS.some((rows) => statements.raw(oldRows(rows)).get(beforeUs) !== undefined)) return true;
  if (statements.raw(OLD_FIRED).get(lastEvent) !== undefined) return true;
  return hasRunIndexes(statements) || freePages(statements) > FREE_PAGES_KEPT;
}

/** Deletes the events of a stretch and their log lines; false when lines are left for the next slice. */
function deleteStretch(statements: Statements, stretch: number, logId: number): boolean {
  const range = [stretch * STRETCH_IDS, stretch * STRETCH_IDS + STRETCH_IDS - 1] as const;
  for (const [kind, values] of UNINDEX)
    statements.raw(`DELETE FROM stretches WHERE kind = ${kind} AND stretch = ? AND value IN (${values})`).run(stretch, ...range);
  statements.raw("DELETE FROM events WHERE id BETWEEN ? AND ?").run(...range);
  statements.raw("DELETE FROM event_chains WHERE event_id BETWEEN ? AND ?").run(...range);
  const { changes } = statements.raw(`DELETE FROM log_blocks WHERE id IN (${OLD_BLOCKS})`).run(logId, ROWS_PER_SLICE);
  if (Number(changes) >= ROWS_PER_SLICE) return false;
  statements.raw("DELETE FROM event_times WHERE stretch = ?").run(stretch);
  return true;
}

function deleteOldCounts(statements: Statements, beforeUs: number): void {
  const before = Math.floor(beforeUs / HOUR_US) - COUNTS_KEPT_HOURS;
  statements.raw("DELETE FROM ended_counts WHERE hour < ?").run(before);
}

/** Deletes coarse index entries of stretches that have no runs or task runs left. */
function deleteRunIndexes(statements: Statements): void {
  const { runs, tasks } = firstStretches(statements);
  statements.raw("DELETE FROM run_times WHERE stretch < ?").run(runs);
  const { task_flow, task_state, task_state_name } = STRETCH_KIND;
  const kinds = [task_flow, task_state, task_state_name].join(", ");
  const rows = `SELECT kind, value, stretch FROM stretches WHERE kind IN (${kinds}) AND stretch < ? LIMIT ${ROWS_PER_SLICE}`;
  if (hasRunIndexes(statements)) statements.raw(`DELETE FROM stretches WHERE (kind, value, stretch) IN (${rows})`).run(tasks);
}

/** True while old entries are left. Checks ended states only, because every stretch of ended task runs has one. */
function hasRunIndexes(statements: Statements): boolean {
  const { tasks } = firstStretches(statements);
  const sql = "SELECT 1 FROM stretches WHERE kind = ? AND value = ? AND stretch < ? LIMIT 1";
  return ENDED_CODES.some((code) => statements.raw(sql).get(STRETCH_KIND.task_state, code, tasks) !== undefined);
}

/** The stretches of the oldest run and task run; earlier stretches are empty. */
function firstStretches(statements: Statements): { runs: number; tasks: number } {
  const first = (table: "runs" | "task_runs", counted: string): number => {
    const sql = `SELECT coalesce((SELECT min(id) FROM ${table}), (SELECT value + 1 FROM counters WHERE name = '${counted}'), 0)`;
    return Math.floor((statements.raw<[number]>(sql).get()?.[0] ?? 0) / STRETCH_IDS);
  };
  return { runs: first("runs", "runs"), tasks: first("task_runs", "task_runs") };
}

/** Pages to give back to the file system: PostgreSQL vacuums by itself. */
function freePages(statements: Statements): number {
  if (statements.database.kind === "postgres") return 0;
  return statements.raw<[number]>("PRAGMA freelist_count").get()?.[0] ?? 0;
}

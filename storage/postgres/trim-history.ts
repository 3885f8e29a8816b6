/** Retention in slices, as storage/write/trim-history.ts in SQLite: the same rows are deleted. */
import { ENDED_CODES, STRETCH_IDS, STRETCH_KIND } from "../schema/codes.ts";
import { HOUR_US } from "../write/ended-counts.ts";
import type { RowOf } from "../write/ops.ts";
import { COUNTS_KEPT_HOURS, ROWS_PER_SLICE } from "../write/trim-history.ts";
import type { Connection } from "./connection.ts";

/** The highest ids of runs and task runs before the commit. */
export interface GivenIds {
  runs: number;
  task_runs: number;
}

const OLD_STRETCHES = `SELECT stretch, log_id FROM event_times WHERE coalesce(received_max, occurred_max) < $1
  AND (stretch + 1) * ${STRETCH_IDS} - 1 <= $2 ORDER BY stretch LIMIT $3`;
const DELETE_BLOCKS = `WITH gone AS (DELETE FROM log_blocks
    WHERE id IN (SELECT id FROM log_blocks WHERE id <= $1 ORDER BY id LIMIT ${ROWS_PER_SLICE}) RETURNING 1)
  SELECT count(*) FROM gone`;

/** The resource kind of an event that stores none: events of task runs have a state, events sent from inside a task have none. */
const RESOURCE_KIND = `coalesce(resource_kind, CASE WHEN task_run_id IS NULL OR state_type IS NULL THEN 'run' ELSE 'task_run' END)`;
/** The coarse index entries of a stretch of events, computed from the events. */
const UNINDEX = (
  [
    [STRETCH_KIND.event_name, "SELECT name FROM events WHERE id BETWEEN $2 AND $3"],
    [STRETCH_KIND.event_flow, "SELECT flow_id FROM events WHERE flow_id IS NOT NULL AND id BETWEEN $2 AND $3"],
    [
      STRETCH_KIND.event_resource,
      `SELECT n.id FROM (SELECT DISTINCT ${RESOURCE_KIND} AS kind FROM events WHERE id BETWEEN $2 AND $3) e
        JOIN names n ON index_key(n.name) = index_key(e.kind)`,
    ],
  ] as const
).map(([kind, values]) => `DELETE FROM stretches WHERE kind = ${kind} AND stretch = $1 AND value IN (${values})`);
const DELETE_EVENTS = [
  "DELETE FROM events WHERE id BETWEEN $1 AND $2",
  "DELETE FROM event_chains WHERE event_id BETWEEN $1 AND $2",
];

/** Ended rows of rules, deleted by age; ids grow with time, so only the first ROWS_PER_SLICE rows are checked. */
const ENDED_ROWS = [
  ["firings", "pending IS NULL", "timestamp"],
  ["expectations", "status <> 'open'", "deadline"],
].map(
  ([table, ended, time]) => `DELETE FROM ${table} WHERE id IN (SELECT id FROM
    (SELECT id, ${time} AS time FROM ${table} WHERE ${ended} ORDER BY id LIMIT ${ROWS_PER_SLICE}) first WHERE time < $1)`,
);

const FIRST_RUN = "least((SELECT min(id) FROM live_runs), (SELECT min(id) FROM ended_runs))";
/** `fired` keeps the runs that exist, and deleted runs with an event that rules have not processed. */
const DELETE_FIRED = `DELETE FROM fired WHERE (run_id, rule_id) IN (SELECT run_id, rule_id FROM fired f
  WHERE run_id < coalesce(${FIRST_RUN}, $2) AND NOT EXISTS (SELECT 1 FROM events e WHERE e.run_id = f.run_id AND e.id > $1)
  ORDER BY run_id, rule_id LIMIT ${ROWS_PER_SLICE})`;

const { task_flow, task_state, task_state_name } = STRETCH_KIND;
const DELETE_TASK_INDEXES = `DELETE FROM stretches WHERE (kind, value, stretch) IN (SELECT kind, value, stretch FROM stretches
  WHERE kind IN (${[task_flow, task_state, task_state_name].join(", ")}) AND stretch < $1
  ORDER BY kind, value, stretch LIMIT ${ROWS_PER_SLICE})`;
const HAS_TASK_INDEXES = `SELECT 1 FROM unnest('{${ENDED_CODES.join(",")}}'::int8[]) u (value)
  WHERE EXISTS (SELECT 1 FROM stretches s WHERE s.kind = ${task_state} AND s.value = u.value AND s.stretch < $1) LIMIT 1`;

/** Deletes one slice of rows from before a time: at most `stretches` stretches of events, none above `last_event`. */
export async function trimPostgresHistory(
  connection: Connection,
  { before, last_event, stretches }: RowOf<"trim_history">,
  given: GivenIds,
): Promise<void> {
  const old = await connection.rows<[number, number]>(OLD_STRETCHES, [before, last_event, stretches]);
  for (const [stretch, logId] of old) if (!(await deleteStretch(connection, stretch, logId))) break;
  for (const text of ENDED_ROWS) await connection.rows(text, [before]);
  await connection.rows("DELETE FROM ended_counts WHERE hour < $1", [Math.floor(before / HOUR_US) - COUNTS_KEPT_HOURS]);
  await deleteRunIndexes(connection, given);
  await connection.rows(DELETE_FIRED, [last_event, given.runs]);
}

/** Deletes the events of a stretch and their log lines; false when lines are left for the next slice. */
async function deleteStretch(connection: Connection, stretch: number, logId: number): Promise<boolean> {
  const range = [stretch * STRETCH_IDS, stretch * STRETCH_IDS + STRETCH_IDS - 1];
  for (const text of UNINDEX) await connection.rows(text, [stretch, ...range]);
  for (const text of DELETE_EVENTS) await connection.rows(text, range);
  const [[deleted] = [0]] = await connection.rows<[number]>(DELETE_BLOCKS, [logId]);
  if (deleted >= ROWS_PER_SLICE) return false;
  await connection.rows("DELETE FROM event_times WHERE stretch = $1", [stretch]);
  return true;
}

/** Deletes coarse index entries of stretches that have no runs or task runs left. */
async function deleteRunIndexes(connection: Connection, given: GivenIds): Promise<void> {
  const [[run, task] = [null, null]] = await connection.rows<[number | null, number | null]>(
    `SELECT ${FIRST_RUN}, (SELECT min(id) FROM task_runs)`,
  );
  const [runs, tasks] = [firstStretch(run, given.runs), firstStretch(task, given.task_runs)];
  await connection.rows("DELETE FROM run_times WHERE stretch < $1", [runs]);
  const [left] = await connection.rows(HAS_TASK_INDEXES, [tasks]);
  if (left !== undefined) await connection.rows(DELETE_TASK_INDEXES, [tasks]);
}

/** The stretch of the oldest row; earlier stretches are empty. */
function firstStretch(first: number | null, given: number): number {
  return Math.floor((first ?? given + 1) / STRETCH_IDS);
}

/**
 * What the core reads: at its start everything that lives, without a look at history, and later single runs that have
 * ended when a command names one. Rows have the columns of ops.ts, states as text, JSON columns as text.
 */

import { bytesToUuid, uuidToBytes } from "#protocol/uuid";
import { COUNT_KIND, type Counted, stateType } from "./codes.ts";
import { readCounters } from "./counters.ts";
import type { Database, SqlValue } from "./driver.ts";
import { OPERATIONS, type OperationName } from "./ops.ts";
import { countsOfBackfill } from "./queries/backfill-record.ts";
import { Statements } from "./statements.ts";

export { hasOldHistory } from "./trim-history.ts";

type Value = SqlValue;

export interface FlowRow {
  id: number;
  external_id: string;
  project: string;
  name: string;
  module: string;
  source_dir: string;
  description: string | null;
  flow_group: string | null;
  tags: string;
  parameter_schema: string;
  options: string;
  error: string | null;
  schedule_error: string | null;
  created_at: number;
  last_seen_at: number;
}

export interface RunRow {
  id: number;
  external_id: string;
  flow_id: number;
  name: string;
  parameters: string;
  tags: string;
  priority: number;
  reruns: number;
  created_by: string;
  created_at: number;
  scheduled_time: number | null;
  schedule_id: number | null;
  backfill_id: number | null;
  parent_run_id: number | null;
  state_type: string;
  state_name: string;
  state_timestamp: number;
  state_message: string | null;
  state_details: string;
  state_received: number | null;
  start_time: number | null;
  end_time: number | null;
  total_run_time: number | null;
  engine_id: string | null;
  engine_pid: number | null;
  assignment_id: number | null;
  report_seq: number;
  other_sequences: string | null;
  crash_count: number;
  failure_count: number;
  attempt: number;
}

export interface TaskRunRow {
  id: number;
  external_id: string;
  run_id: number;
  name: string;
  task_key: string;
  dynamic_key: string;
  parents: string;
  state_type: string;
  state_name: string;
  state_timestamp: number;
  state_message: string | null;
  state_details: string;
  start_time: number | null;
  end_time: number | null;
  total_run_time: number | null;
  crash_count: number;
  failure_count: number;
  created_at: number;
}

export interface LeaseRow {
  id: number;
  run_id: number;
  kind: string;
  resources: string;
  created_at: number;
}

export interface AnswerRow {
  run_id: number;
  ordinal: number;
  value: string;
  created_at: number;
}

export interface EngineRow {
  id: string;
  pid: number;
  pid_started: number | null;
  host: string | null;
  project_key: string | null;
  last_contact: number;
}

export interface ScheduleRow {
  id: number;
  external_id: string;
  flow_id: number;
  /** The spec as JSON text. */
  schedule: string;
  catchup: string;
  catchup_max: number;
  active: number;
  paused_reason: string | null;
  paused_until: number | null;
  source: string;
  code_key: string | null;
  persist: number;
  created_at: number;
  updated_at: number;
  next_fire: number | null;
  consumed_until: number;
}

export interface SkipRow {
  schedule_id: number;
  fire: number;
  skipped_by: string;
  skipped_at: number;
}

export interface BackfillRow {
  id: number;
  external_id: string;
  flow_id: number;
  parameter: string;
  start_value: string;
  end_value: string;
  interval_secs: number;
  concurrency: number;
  total: number;
  cancelled: number;
  prefiltered: number;
  created_at: number;
  extra_parameters: string;
  cancelled_through: number | null;
}

export interface LoadedBackfill {
  backfill: BackfillRow;
  /** Its runs by name of their state. */
  counts: Map<string, number>;
}

export interface CountRow {
  flow_id: number;
  kind: "runs" | "task_runs";
  state_type: string;
  count: number;
}

export interface LoadedRun {
  run: RunRow;
  task_runs: TaskRunRow[];
  answers: AnswerRow[];
}

/** Everything the core holds in memory. */
export interface LoadedStore {
  flows: FlowRow[];
  /** Runs that have not ended, by id. */
  runs: RunRow[];
  /** Their task runs, by id. */
  task_runs: TaskRunRow[];
  leases: LeaseRow[];
  /** Answers of the runs above, by run and ordinal. */
  answers: AnswerRow[];
  engines: EngineRow[];
  reruns: { run_id: number; due: number }[];
  schedules: ScheduleRow[];
  skips: SkipRow[];
  /** Fires that are still to come and whose runs have ended already. */
  ended_fires: { schedule_id: number; fire: number }[];
  /** Backfills that have unfinished runs. */
  backfills: LoadedBackfill[];
  counts: CountRow[];
  /** The id to give next, by table; "stream" is the next stream number. */
  next_ids: Record<Counted, number>;
  /** Number of the last committed batch of each source. */
  commits: { source: number; number: number }[];
}

const EMPTY: Readonly<Record<string, string>> = {
  tags: "[]",
  parents: "[]",
  parameters: "{}",
  parameter_schema: "{}",
  options: "{}",
  state_details: "{}",
  extra_parameters: "{}",
};

/** Reads rows as records: external ids and states as text, empty JSON filled in. */
function records<Row>(statements: Statements, operation: OperationName, table: string, rest: string, ...values: Value[]): Row[] {
  const columns: readonly string[] = OPERATIONS[operation];
  const sql = `SELECT ${columns.join(", ")} FROM ${table} ${rest}`;
  return statements
    .raw<Value[]>(sql)
    .all(...values)
    .map((row) => toRecord(columns, row) as Row);
}

function toRecord(columns: readonly string[], row: readonly Value[]): Record<string, Value> {
  const record: Record<string, Value> = {};
  for (const [index, column] of columns.entries()) {
    const value = row[index] ?? null;
    if (column === "external_id" && value instanceof Uint8Array) record[column] = bytesToUuid(value);
    else if (column === "state_type") record[column] = stateType(Number(value));
    else if (column === "state_name") record[column] = value ?? record["state_type"] ?? null;
    else record[column] = value ?? EMPTY[column] ?? null;
  }
  return record;
}

const UNFINISHED = "(SELECT id FROM runs INDEXED BY runs_unfinished WHERE end_time IS NULL)";

export function loadStore(database: Database): LoadedStore {
  const statements = new Statements(database);
  database.exec("BEGIN");
  try {
    return readAll(statements);
  } finally {
    database.exec("COMMIT");
  }
}

function readAll(statements: Statements): LoadedStore {
  const counters = readCounters(statements);
  const next_ids = Object.fromEntries(Object.entries(counters).map(([name, value]) => [name, value + 1])) as Record<
    Counted,
    number
  >;
  return {
    flows: records<FlowRow>(statements, "insert_flow", "flows", "ORDER BY id"),
    runs: records<RunRow>(statements, "insert_run", "runs", `WHERE id IN ${UNFINISHED} ORDER BY id`),
    task_runs: records<TaskRunRow>(statements, "put_task_run", "task_runs", `WHERE run_id IN ${UNFINISHED} ORDER BY id`),
    leases: records<LeaseRow>(statements, "insert_lease", "leases", "ORDER BY id"),
    answers: records<AnswerRow>(statements, "insert_answer", "answers", `WHERE run_id IN ${UNFINISHED} ORDER BY run_id, ordinal`),
    engines: records<EngineRow>(statements, "put_engine", "engines", "ORDER BY id"),
    reruns: records<{ run_id: number; due: number }>(statements, "put_rerun", "reruns", "ORDER BY run_id"),
    schedules: records<ScheduleRow>(statements, "put_schedule", "schedules", "ORDER BY id"),
    skips: records<SkipRow>(statements, "put_skip", "skips", "ORDER BY schedule_id, fire"),
    ended_fires: readEndedFires(statements),
    backfills: unfinishedBackfills(statements),
    counts: readCounts(statements),
    next_ids,
    commits: statements
      .raw<[number, number]>("SELECT source, max(number) FROM commits GROUP BY source ORDER BY source")
      .all()
      .map(([source, number]) => ({ source, number })),
  };
}

/** By the index of fires, so that only what lies ahead of each schedule is read. */
function readEndedFires(statements: Statements): { schedule_id: number; fire: number }[] {
  const sql = `SELECT s.id, r.scheduled_time FROM schedules s CROSS JOIN runs r INDEXED BY runs_schedule
    ON r.schedule_id = s.id AND r.schedule_id IS NOT NULL AND r.scheduled_time > s.consumed_until WHERE r.end_time IS NOT NULL`;
  const rows = statements.raw<[number, number]>(sql).all();
  return rows.map(([schedule_id, fire]) => ({ schedule_id, fire }));
}

/** Those with unfinished runs, those whose check is still to be answered, and those that are being cancelled. */
function unfinishedBackfills(statements: Statements): LoadedBackfill[] {
  const sql =
    "SELECT backfill_id FROM runs INDEXED BY runs_unfinished WHERE end_time IS NULL AND backfill_id IS NOT NULL " +
    "UNION SELECT id FROM backfills WHERE prefiltered = 0 OR cancelled_through IS NOT NULL ORDER BY 1";
  const ids = statements.raw<[number]>(sql).all();
  return ids.flatMap(([id]) => loadBackfill(statements, id) ?? []);
}

/** A backfill with the counts of its runs; null when there is none. */
export function loadBackfill(statements: Statements, id: number): LoadedBackfill | null {
  const backfill = records<BackfillRow>(statements, "put_backfill", "backfills", "WHERE id = ?", id)[0];
  return backfill === undefined ? null : { backfill, counts: countsOfBackfill(statements, id) };
}

function readCounts(statements: Statements): CountRow[] {
  const sql = "SELECT flow_id, kind, state_type, count FROM counts ORDER BY flow_id, kind, state_type";
  return statements
    .raw<[number, number, number, number]>(sql)
    .all()
    .map(([flow_id, kind, state, count]) => ({
      flow_id,
      kind: kind === COUNT_KIND.runs ? "runs" : "task_runs",
      state_type: stateType(state),
      count,
    }));
}

/** One run of any state with its task runs and answers; null when there is none. */
export function loadRun(statements: Statements, id: number): LoadedRun | null {
  const run = records<RunRow>(statements, "insert_run", "runs", "WHERE id = ?", id)[0];
  if (run === undefined) return null;
  return {
    run,
    task_runs: records<TaskRunRow>(statements, "put_task_run", "task_runs", "WHERE run_id = ? ORDER BY id", id),
    answers: records<AnswerRow>(statements, "insert_answer", "answers", "WHERE run_id = ? ORDER BY ordinal", id),
  };
}

/** The id and creation time of an artifact of a run by its external id; null when there is none. */
export function findArtifact(
  statements: Statements,
  runId: number,
  externalId: string,
): { id: number; created_at: number } | null {
  const sql = "SELECT id, created_at FROM artifacts WHERE run_id = ? AND external_id = ?";
  const row = statements.raw<[number, number]>(sql).get(runId, uuidToBytes(externalId));
  return row === undefined ? null : { id: row[0], created_at: row[1] };
}

/** What is known of a value of the key of a downstream flow. */
export function findFanIn(
  statements: Statements,
  downstreamId: number,
  value: string,
): { flow_id: number; run_id: number; completed: boolean }[] {
  const sql = "SELECT flow_id, run_id, completed FROM fan_in WHERE downstream_id = ? AND value = ?";
  const rows = statements.raw<[number, number, number]>(sql).all(downstreamId, value);
  return rows.map(([flow_id, run_id, completed]) => ({ flow_id, run_id, completed: completed === 1 }));
}

/** The first answer to a request with this Idempotency-Key; null when it is unknown. */
export function findIdempotency(
  statements: Statements,
  key: string,
): { fingerprint: string; status: number; body: string | null } | null {
  const sql = "SELECT fingerprint, status, body FROM idempotency WHERE key = ?";
  const row = statements.raw<[string, number, string | null]>(sql).get(key);
  return row === undefined ? null : { fingerprint: row[0], status: row[1], body: row[2] };
}

/** A variable; null when there is none. Its value is JSON text, or the sealed form of it for a secret. */
export function findVariable(
  statements: Statements,
  name: string,
): { value: string; secret: boolean; tags: string[]; created_at: number } | null {
  const sql = "SELECT value, secret, tags, created_at FROM variables WHERE name = ?";
  const row = statements.raw<[string, number, string | null, number]>(sql).get(name);
  if (row === undefined) return null;
  return { value: row[0], secret: row[1] === 1, tags: JSON.parse(row[2] ?? "[]") as string[], created_at: row[3] };
}

/** True when a secret variable is stored. */
export function hasSecrets(statements: Statements): boolean {
  return statements.raw("SELECT 1 FROM variables WHERE secret = 1 LIMIT 1").get() !== undefined;
}

/**
 * Ids of runs that ended before a time, the earliest first. By the clock of the server: an engine whose clock is wrong neither
 * ends its runs long ago nor keeps them for ever.
 */
export function runsEndedBefore(statements: Statements, beforeUs: number, limit: number): number[] {
  const sql = `SELECT id FROM runs INDEXED BY runs_start WHERE end_time IS NOT NULL AND coalesce(start_time, created_at) < ?
    AND end_time < ? AND state_received IS NULL ORDER BY coalesce(start_time, created_at) LIMIT ?`;
  const received = `SELECT id FROM runs INDEXED BY runs_received WHERE end_time IS NOT NULL AND state_received IS NOT NULL
    AND state_received < ? ORDER BY state_received LIMIT ?`;
  const ids = statements.raw<[number]>(sql).all(beforeUs, beforeUs, limit);
  const rest = limit - ids.length;
  return [...ids, ...(rest > 0 ? statements.raw<[number]>(received).all(beforeUs, rest) : [])].map(([id]) => id);
}

/**
 * What the core loads at its start: all live rows, without scanning history; load-runs.ts loads the runs. Rows have the
 * columns of ops.ts, states as text, JSON columns as text.
 *
 * SQLite only: INDEXED BY (nothing: plans are pinned for a connection), CROSS JOIN (JOIN: it only fixes the order of the
 * joins).
 */

import { uuidToBytes } from "#protocol/values/uuid";
import { countsOfBackfill } from "../queries/backfill-record.ts";
import { COUNT_KIND, type Counted, stateType } from "../schema/codes.ts";
import { type KeptBody, readKeptBody } from "../schema/kept-answer.ts";
import type { Database } from "../sqlite/driver.ts";
import { Statements } from "../sqlite/statements.ts";
import { readCounters } from "../write/counters.ts";
import type { StoredRow } from "../write/ops.ts";
import { records } from "./records.ts";

export { hasOldHistory } from "../write/trim-history.ts";

export type FlowRow = StoredRow<"insert_flow">;
export type LeaseRow = StoredRow<"insert_lease">;
export type EngineRow = StoredRow<"put_engine">;
export type ScheduleRow = StoredRow<"put_schedule">;
export type SkipRow = StoredRow<"put_skip">;
export type BackfillRow = StoredRow<"put_backfill">;

/** The clocks as last measured (storage/migrations/0005-clock.ts). */
export type ClockRow = Omit<StoredRow<"put_clock">, "id">;

export interface LoadedBackfill {
  backfill: BackfillRow;
  /** The backfill's runs by state name. */
  counts: Map<string, number>;
}

export interface CountRow {
  flow_id: number;
  kind: "runs" | "task_runs";
  state_type: string;
  count: number;
}

/** Everything the core holds in memory except unfinished runs. */
export interface LoadedStore {
  flows: FlowRow[];
  leases: LeaseRow[];
  engines: EngineRow[];
  reruns: StoredRow<"put_rerun">[];
  schedules: ScheduleRow[];
  skips: SkipRow[];
  /** Future fires whose runs have already ended. */
  ended_fires: { schedule_id: number; fire: number }[];
  /** Backfills with an open bulk-completion check, or being cancelled; those of unfinished runs are known from the runs. */
  open_backfills: number[];
  counts: CountRow[];
  settings: StoredRow<"put_setting">[];
  /** Null before the first start. */
  clock: ClockRow | null;
  /** When the newest event was received; null without events. */
  newest_event_us: number | null;
  /** The next id to assign, by table; for "stream" the next stream number. */
  next_ids: Record<Counted, number>;
}

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
    flows: records(statements, "insert_flow", "flows", "ORDER BY id"),
    leases: records(statements, "insert_lease", "leases", "ORDER BY id"),
    engines: records(statements, "put_engine", "engines", "ORDER BY id"),
    reruns: records(statements, "put_rerun", "reruns", "ORDER BY run_id"),
    schedules: records(statements, "put_schedule", "schedules", "ORDER BY id"),
    skips: records(statements, "put_skip", "skips", "ORDER BY schedule_id, fire"),
    ended_fires: readEndedFires(statements),
    open_backfills: readOpenBackfills(statements),
    counts: readCounts(statements),
    settings: storedSettings(statements),
    clock: records(statements, "put_clock", "clock", "")[0] ?? null,
    newest_event_us: readNewestEventUs(statements),
    next_ids,
  };
}

/** The rows of settings, of all kinds. */
export function storedSettings(statements: Statements): StoredRow<"put_setting">[] {
  return records(statements, "put_setting", "settings", "ORDER BY name");
}

/** Uses the index of fires, so that only fires ahead of each schedule's `consumed_until` are read. */
function readEndedFires(statements: Statements): { schedule_id: number; fire: number }[] {
  const sql = `SELECT s.id, r.scheduled_time FROM schedules s CROSS JOIN runs r INDEXED BY runs_schedule
    ON r.schedule_id = s.id AND r.schedule_id IS NOT NULL AND r.scheduled_time > s.consumed_until WHERE r.end_time IS NOT NULL`;
  const rows = statements.raw<[number, number]>(sql).all();
  return rows.map(([schedule_id, fire]) => ({ schedule_id, fire }));
}

function readOpenBackfills(statements: Statements): number[] {
  const sql = "SELECT id FROM backfills WHERE prefiltered = 0 OR cancelled_through IS NOT NULL";
  return statements
    .raw<[number]>(sql)
    .all()
    .map(([id]) => id);
}

/** A backfill with the counts of its runs; null for an unknown backfill. */
export function loadBackfill(statements: Statements, id: number): LoadedBackfill | null {
  const backfill = records(statements, "put_backfill", "backfills", "WHERE id = ?", [id])[0];
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

/** Id and creation time of an artifact of a run, by external id; null for an unknown artifact. */
export function findArtifact(
  statements: Statements,
  runId: number,
  externalId: string,
): { id: number; created_at: number } | null {
  const sql = "SELECT id, created_at FROM artifacts WHERE run_id = ? AND external_id = ?";
  const row = statements.raw<[number, number]>(sql).get(runId, uuidToBytes(externalId));
  return row === undefined ? null : { id: row[0], created_at: row[1] };
}

/** The stored fan-in entry for a key value of a downstream flow. */
export function findFanIn(
  statements: Statements,
  downstreamId: number,
  value: string,
): { flow_id: number; run_id: number; completed: boolean }[] {
  const sql = "SELECT flow_id, run_id, completed FROM fan_in WHERE downstream_id = ? AND (value) = (?)";
  const rows = statements.raw<[number, number, number]>(sql).all(downstreamId, value);
  return rows.map(([flow_id, run_id, completed]) => ({ flow_id, run_id, completed: completed === 1 }));
}

/** The first answer to a request with this Idempotency-Key; null for an unknown key. */
export function findIdempotency(
  statements: Statements,
  key: string,
): { fingerprint: string; status: number; body: KeptBody } | null {
  const sql = "SELECT fingerprint, status, body FROM idempotency WHERE key = ?";
  const row = statements.raw<[string, number, string]>(sql).get(key);
  return row === undefined ? null : { fingerprint: row[0], status: row[1], body: readKeptBody(row[2]) };
}

/** A variable, null for an unknown name. The value is JSON text; for a secret, the sealed form of it. */
export function findVariable(
  statements: Statements,
  name: string,
): { value: string; secret: boolean; tags: string[]; created_at: number } | null {
  const sql = "SELECT value, secret, tags, created_at FROM variables WHERE name = ?";
  const row = statements.raw<[string, number, string | null, number]>(sql).get(name);
  if (row === undefined) return null;
  return { value: row[0], secret: row[1] === 1, tags: JSON.parse(row[2] ?? "[]") as string[], created_at: row[3] };
}

/** The sealed value of any secret variable; null without one. */
export function anySecret(statements: Statements): string | null {
  return statements.raw<[string]>("SELECT value FROM variables WHERE secret = 1 ORDER BY name LIMIT 1").get()?.[0] ?? null;
}

/** True when a secret variable is stored. */
export function hasSecrets(statements: Statements): boolean {
  return statements.raw("SELECT 1 FROM variables WHERE secret = 1 LIMIT 1").get() !== undefined;
}

/** Ids of ended runs of a flow. */
export function endedRunsOf(statements: Statements, flowId: number, limit: number): number[] {
  const sql = "SELECT id FROM runs INDEXED BY runs_ended WHERE flow_id = ? AND end_time IS NOT NULL LIMIT ?";
  const rows = statements.raw<[number]>(sql).all(flowId, limit);
  return rows.map(([id]) => id);
}

/** Runs of a schedule for fires after a time, in any state. */
export function runsOfFiresAfter(statements: Statements, scheduleId: number, us: number): number[] {
  const sql = `SELECT id FROM runs INDEXED BY runs_schedule WHERE schedule_id = ? AND schedule_id IS NOT NULL AND scheduled_time > ?
    ORDER BY scheduled_time`;
  const rows = statements.raw<[number]>(sql).all(scheduleId, us);
  return rows.map(([id]) => id);
}

/** A run starts after its creation; a start more than this before the oldest creation comes from a wrong clock. */
const PLAUSIBLE_START_US = 86_400_000_000;
const WRONG_STARTS_MAX = 1_000;

const RECEIVED_BEFORE = `SELECT id FROM runs INDEXED BY runs_received WHERE end_time IS NOT NULL AND state_received IS NOT NULL
  AND state_received < ? ORDER BY state_received LIMIT ?`;
const STARTED_WRONGLY = `SELECT id FROM (SELECT id, end_time, state_received FROM runs INDEXED BY runs_start
  WHERE end_time IS NOT NULL AND coalesce(start_time, created_at) < ? ORDER BY coalesce(start_time, created_at) LIMIT ?) AS first
  WHERE state_received IS NULL AND end_time < ? LIMIT ?`;

/**
 * Ids of runs that ended before a time, the earliest first. Uses the server's clock, so that an engine with a wrong clock
 * neither ages its runs nor keeps them for ever.
 */
export function runsEndedBefore(statements: Statements, beforeUs: number, limit: number): number[] {
  const ids = (sql: string, ...values: number[]): number[] =>
    statements
      .raw<[number]>(sql)
      .all(...values)
      .map(([id]) => id);
  const oldestUs = statements.raw<[number]>("SELECT created_at FROM runs ORDER BY id LIMIT 1").get()?.[0] ?? 0;
  const plausibleUs = oldestUs - PLAUSIBLE_START_US;
  const found = ids(
    `SELECT id FROM runs INDEXED BY runs_start WHERE end_time IS NOT NULL AND coalesce(start_time, created_at) BETWEEN ? AND ?
      AND end_time < ? AND state_received IS NULL ORDER BY coalesce(start_time, created_at) LIMIT ?`,
    ...[plausibleUs, beforeUs, beforeUs, limit],
  );
  found.push(...ids(RECEIVED_BEFORE, beforeUs, Math.max(0, limit - found.length)));
  // Wrong starts with a right end are few: scan the first WRONG_STARTS_MAX only, since the other rows there have wrong ends
  // too.
  found.push(...ids(STARTED_WRONGLY, plausibleUs, WRONG_STARTS_MAX, beforeUs, Math.max(0, limit - found.length)));
  return found;
}

function readNewestEventUs(statements: Statements): number | null {
  const sql = "SELECT coalesce(received_max, occurred_max) FROM event_times ORDER BY stretch DESC LIMIT 1";
  return statements.raw<[number | null]>(sql).get()?.[0] ?? null;
}

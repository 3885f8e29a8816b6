/**
 * What the core loads about durable runs: at its start what is open, without scanning history; later single rows, and the rows
 * of parked runs that are needed again.
 *
 * SQLite only: INDEXED BY (nothing: plans are pinned for a connection), CROSS JOIN (JOIN: it only fixes the order of the
 * joins), json_each (= ANY of an array), json_group_object (json_object_agg; its arrays: json_agg).
 */
import type { Statements } from "../sqlite/statements.ts";
import type { StoredRow } from "../write/ops.ts";
import { isEventOf } from "./lineage-events.ts";
import { type LoadedRun, loadRuns } from "./load-runs.ts";
import { records } from "./records.ts";

export type WaitRow = StoredRow<"put_wait">;
export type LineageRow = StoredRow<"put_lineage">;
export type ParkRow = StoredRow<"put_park">;

/** Parked runs that stay in the store, as columns: they may be many. */
export interface AwayRuns {
  ids: number[];
  flows: number[];
  /** Null: the run is not durable, and waits for its retry. */
  lineages: (number | null)[];
  /** The end of the retry delay. */
  wakes: (number | null)[];
  /** Newest lease that one of them had. */
  lease: number;
  /** Runs in memory that have a row in `parks`. */
  here: number[];
}

/** The open waits at a start. */
export interface OpenWaits {
  /** By id, so that an event settles the oldest first: those of runs in memory, and all that wait for an event. */
  rows: WaitRow[];
  /** Ids of the waits that end by themselves, of all runs. */
  endingIds: number[];
  /** When each of these ends. */
  endings: number[];
}

/**
 * Like ParkedRuns.#mayLeave: a run stays in memory while it keeps its resources, belongs to a backfill, or is the run of a fire
 * that its schedule has not decided.
 */
const AWAY = `FROM parks p CROSS JOIN runs r ON r.id = p.run_id LEFT JOIN schedules s ON s.id = r.schedule_id
  WHERE p.parked = 1 AND p.holds = 0 AND r.end_time IS NULL AND r.assigned = 0 AND r.backfill_id IS NULL
  AND NOT coalesce(r.scheduled_time > s.consumed_until, FALSE)`;

function readAway(statements: Statements): AwayRuns {
  const columns = ["r.id", "r.flow_id", "r.lineage_id", "p.wake_at"].map((column) => `json_group_array(${column})`);
  // Texts, because the driver makes an array of each row.
  const sql = `SELECT ${columns.join(", ")}, ifnull(max(r.assignment_id), 0) ${AWAY}`;
  const [ids, flows, lineages, wakes, lease] = statements.raw<[string, string, string, string, number]>(sql).get() ?? NONE;
  const parks = statements.raw<[string]>("SELECT json_group_array(run_id) FROM parks").get()?.[0] ?? "[]";
  const awayIds = numbers(ids);
  const away = new Set(awayIds);
  const here = numbers(parks).filter((id) => !away.has(id));
  return { ids: awayIds, flows: numbers(flows), lineages: numbers(lineages), wakes: numbers(wakes), lease, here };
}

const NONE = ["[]", "[]", "[]", "[]", 0] as const;

function numbers(text: string): number[] {
  return JSON.parse(text) as number[];
}

const OPEN = "FROM waits INDEXED BY waits_open WHERE settled_at IS NULL";

/** @param away lineages of runs that stay in the store */
function readOpenWaits(statements: Statements, away: ReadonlySet<number | null>): OpenWaits {
  const endingIds: number[] = [];
  const endings: number[] = [];
  const whole: number[] = [];
  const waits = statements.raw<[number, number, number | null, number]>(`SELECT id, lineage_id, due, kind = 'event' ${OPEN}`);
  for (const [id, lineage, due, isEvent] of waits.iterate()) {
    if (due !== null) {
      endingIds.push(id);
      endings.push(due);
    }
    if (isEvent === 1 || !away.has(lineage)) whole.push(id);
  }
  whole.sort((a, b) => a - b);
  return {
    rows: inSlices(whole, (ids) => records(statements, "put_wait", "waits", `WHERE id IN ${THESE} ORDER BY id`, [ids])),
    endingIds,
    endings,
  };
}

const THESE = "(SELECT value FROM json_each(?))";
const ROWS_AT_ONCE = 1_000;

/** Reads by ids, so many at once; `read` gets them as JSON text. */
function inSlices<Row>(ids: readonly number[], read: (ids: string) => Row[]): Row[] {
  const rows: Row[] = [];
  for (let index = 0; index < ids.length; index += ROWS_AT_ONCE) {
    for (const row of read(JSON.stringify(ids.slice(index, index + ROWS_AT_ONCE)))) rows.push(row);
  }
  return rows;
}

/** The open waits of these lineages, by id. */
function openWaitsOf(statements: Statements, lineages: readonly number[]): WaitRow[] {
  const which = `INDEXED BY waits_open WHERE settled_at IS NULL AND lineage_id IN ${THESE}`;
  return inSlices(lineages, (ids) => records(statements, "put_wait", "waits", which, [ids])).sort((a, b) => a.id - b.id);
}

function readParks(statements: Statements, runs: readonly number[]): ParkRow[] {
  return inSlices(runs, (ids) => records(statements, "put_park", "parks", `WHERE run_id IN ${THESE}`, [ids]));
}

/** Parked runs with what is stored of their waiting. */
export interface LoadedParked {
  runs: LoadedRun[];
  parks: ParkRow[];
  /** Rows of their lineages, by id. */
  lineages: Map<number, LineageRow>;
  /** Their open waits, by id. */
  waits: WaitRow[];
}

function readParked(statements: Statements, ids: readonly number[]): LoadedParked {
  const runs = loadRuns(statements, ids);
  const lineages = runs.flatMap(({ run }) => run.lineage_id ?? []);
  return {
    runs,
    parks: readParks(statements, ids),
    lineages: loadLineages(statements, lineages),
    waits: openWaitsOf(statements, lineages),
  };
}

/** What runs are looked for by: lineages, open waits, or the hash of an open callback's token. */
export interface ParkedKeys {
  lineages: readonly number[];
  waits?: readonly number[];
  callback?: string;
}

/** Ids of the unfinished runs with one of these. */
function findParked(statements: Statements, { lineages, waits = [], callback }: ParkedKeys): number[] {
  const ofWaits = `SELECT DISTINCT lineage_id FROM waits WHERE id IN ${THESE} AND settled_at IS NULL`;
  const found = [...lineages, ...inSlices(waits, (ids) => statements.raw<[number]>(ofWaits).all(ids)).map(([id]) => id)];
  if (callback !== undefined) {
    const ofToken = "SELECT lineage_id FROM waits WHERE token_hash = ? AND settled_at IS NULL";
    for (const [id] of statements.raw<[number]>(ofToken).all(Buffer.from(callback, "hex"))) found.push(id);
  }
  const sql = `SELECT id FROM runs INDEXED BY runs_lineage WHERE lineage_id IN ${THESE} AND end_time IS NULL`;
  return inSlices(found, (ids) => statements.raw<[number]>(sql).all(ids)).map(([id]) => id);
}

/** The row of a lineage; null for one that was neither forked nor called. */
function loadLineage(statements: Statements, id: number): LineageRow | null {
  return records(statements, "put_lineage", "lineages", "WHERE id = ?", [id])[0] ?? null;
}

/** The rows of these lineages, by id. */
function loadLineages(statements: Statements, ids: readonly number[]): Map<number, LineageRow> {
  const rows = inSlices(ids, (some) => records(statements, "put_lineage", "lineages", `WHERE id IN ${THESE}`, [some]));
  return new Map(rows.map((row) => [row.id, row]));
}

/** Whether a lineage has rows of its own in a table. */
function hasRowsOf(statements: Statements, table: "steps" | "waits", lineageId: number): boolean {
  return statements.raw(`SELECT 1 FROM ${table} WHERE lineage_id = ? LIMIT 1`).get(lineageId) !== undefined;
}

/** A wait of a lineage by its identity, open or settled; null for an unknown one. */
function findWait(statements: Statements, lineageId: number, identity: string): WaitRow | null {
  const which = "WHERE lineage_id = ? AND identity = ?";
  return records(statements, "put_wait", "waits", which, [lineageId, Buffer.from(identity, "hex")])[0] ?? null;
}

/** Id of the newest run of a lineage; null when all of its runs are deleted. */
function newestRunOf(statements: Statements, lineageId: number): number | null {
  return statements.raw<[number | null]>("SELECT max(id) FROM runs WHERE lineage_id = ?").get(lineageId)?.[0] ?? null;
}

/** The reads of durable rows on one handle. */
export function durableReads(statements: Statements) {
  return {
    readLineage: (id: number) => loadLineage(statements, id),
    hasRows: (table: "steps" | "waits", lineageId: number) => hasRowsOf(statements, table, lineageId),
    findWait: (lineageId: number, identity: string) => findWait(statements, lineageId, identity),
    newestRunOf: (lineageId: number) => newestRunOf(statements, lineageId),
    isEventOf: (lineageId: number, event: { id: number; name: string }) => isEventOf(statements, lineageId, event),
    readAway: () => readAway(statements),
    readOpenWaits: (away: ReadonlySet<number | null>) => readOpenWaits(statements, away),
    readLineages: (ids: readonly number[]) => loadLineages(statements, ids),
    readParks: (runs: readonly number[]) => readParks(statements, runs),
    loadParked: (ids: readonly number[]) => readParked(statements, ids),
    findParked: (keys: ParkedKeys) => findParked(statements, keys),
  };
}

export type DurableReads = ReturnType<typeof durableReads>;

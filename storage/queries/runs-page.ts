/**
 * GET /api/runs: filters, sorts and pages.
 *
 * Every sort has an index; runs that have not ended are in none of the partial ones and are read apart (they are few).
 * With a filter that few runs match, those runs are read by the filter's index and sorted; otherwise the sort's index is
 * walked and the filter applied on the way. Both find the same runs in the same order.
 */
import type { RunCountsQuery, RunSort, RunsQuery } from "#protocol/run";
import type { SqlValue } from "../driver.ts";
import type { Statements } from "../statements.ts";
import { Conditions } from "./conditions.ts";
import { page } from "./json.ts";
import { type RunSelection, type Source, selectRuns } from "./run-filters.ts";
import { type RunRow, renderRuns, SELECT_RUN } from "./run-record.ts";
import { runStretches } from "./stretch-walk.ts";

/** Up to this many matches are read and sorted: about 5 ms. */
const COLLECTED_MAX = 4_000;

/** One stretch of an order: rows for which `only` holds, by `key` (null: by id alone). */
interface Phase {
  key: string | null;
  /** What the rows of this phase have in common, as a condition on `r`. */
  only: string;
  descending: boolean;
  /** Index reads that cover the phase, in the order of the key. */
  sources: readonly Source[];
}

const START = "coalesce(r.start_time, r.created_at)";

function from(clause: string, term = "TRUE"): Source {
  return { from: clause, where: new Conditions().add(term) };
}

const ALL = [from("runs r NOT INDEXED")];
const UNFINISHED = from("runs r INDEXED BY runs_unfinished", "r.end_time IS NULL");

function startPhase(descending: boolean): Phase {
  return {
    key: START,
    only: "TRUE",
    descending,
    sources: [from("runs r INDEXED BY runs_start", "r.end_time IS NOT NULL"), UNFINISHED],
  };
}

function durationPhase(descending: boolean): Phase {
  const only = "r.total_run_time IS NOT NULL";
  return { key: "r.total_run_time", only, descending, sources: [from("runs r INDEXED BY runs_duration")] };
}

function noDurationPhase(descending: boolean): Phase {
  const ended = from("runs r INDEXED BY runs_no_duration", "r.end_time IS NOT NULL AND r.total_run_time IS NULL");
  return { key: null, only: "r.total_run_time IS NULL", descending, sources: [ended, UNFINISHED] };
}

function idPhase(descending: boolean): Phase {
  return { key: null, only: "TRUE", descending, sources: ALL };
}

const SORTS: Record<RunSort, readonly Phase[]> = {
  created_desc: [idPhase(true)],
  created_asc: [idPhase(false)],
  start_desc: [startPhase(true)],
  start_asc: [startPhase(false)],
  duration_desc: [durationPhase(true), noDurationPhase(true)],
  duration_asc: [noDurationPhase(false), durationPhase(false)],
  name_asc: [{ key: "r.name", only: "TRUE", descending: false, sources: [from("runs r INDEXED BY runs_name")] }],
  scheduled_asc: [
    {
      key: "r.scheduled_time",
      only: "r.scheduled_time IS NOT NULL",
      descending: false,
      sources: [from("runs r INDEXED BY runs_scheduled")],
    },
    { key: null, only: "r.scheduled_time IS NULL", descending: false, sources: ALL },
  ],
};

export interface RunsPageOptions {
  /** Up to this many matches are read and sorted. */
  collectedMax?: number;
}

/** A page of runs as JSON text. */
export function runsPage(statements: Statements, query: RunsQuery, options: RunsPageOptions = {}): string {
  const collectedMax = options.collectedMax ?? COLLECTED_MAX;
  const ids = runIds(statements, query, query.cursor ?? null, collectedMax);
  const more = ids.length > query.limit;
  const shown = more ? ids.slice(0, query.limit) : ids;
  const items = renderRuns(statements, rowsOf(statements, shown));
  return page(items, more ? (shown.at(-1) ?? null) : null);
}

/** Rows of these runs, in their order. */
function rowsOf(statements: Statements, ids: readonly number[]): RunRow[] {
  if (ids.length === 0) return [];
  const sql = `${SELECT_RUN} WHERE r.id IN (${ids.map(() => "?").join(", ")})`;
  const rows = new Map(
    statements
      .raw<RunRow>(sql)
      .all(...ids)
      .map((row) => [row[0], row]),
  );
  return ids.map((id) => rows.get(id)).filter((row) => row !== undefined);
}

/** Ids of the page and one more, when there is one. */
function runIds(statements: Statements, query: RunsQuery, cursor: number | null, collectedMax: number): number[] {
  const selection = selectRuns(statements, query);
  if (!selection.possible) return [];
  const phases = SORTS[query.sort];
  const start = cursor === null ? { phase: 0, key: null } : positionOf(statements, phases, cursor);
  if (start === null) return [];
  const byId = phases.every((phase) => phase.key === null && phase.only === "TRUE");
  const collected = byId && selection.sources !== null ? null : collect(statements, query, selection, collectedMax);
  const ids: number[] = [];
  for (const [index, phase] of phases.entries()) {
    if (index < start.phase) continue;
    const after = index === start.phase && cursor !== null ? { key: start.key, id: cursor } : null;
    ids.push(...phaseIds(statements, phase, selection, collected, after, query.limit + 1 - ids.length));
    if (ids.length > query.limit) break;
  }
  return ids;
}

/** Which phase the run of the cursor is in, and its key there; by id alone it need not exist any more. */
function positionOf(statements: Statements, phases: readonly Phase[], cursor: number): { phase: number; key: SqlValue } | null {
  if (phases.length === 1 && phases[0]?.key === null) return { phase: 0, key: null };
  for (const [phase, { key, only }] of phases.entries()) {
    const row = statements.raw<[SqlValue]>(`SELECT ${key ?? "NULL"} FROM runs r WHERE r.id = ? AND ${only}`).get(cursor);
    if (row !== undefined) return { phase, key: row[0] };
  }
  return null;
}

/** Ids that the filters' own indexes find, when they are few; null when they are many or no index covers the filters. */
function collect(statements: Statements, query: RunsQuery, selection: RunSelection, most: number): number[] | null {
  const sources = selection.sources ?? rangeSources(query);
  if (sources === null) return null;
  const ids: number[] = [];
  for (const { from, where } of sources) {
    const sql = `SELECT r.id FROM ${from} WHERE ${where.sql} LIMIT ?`;
    for (const [id] of statements.raw<[number]>(sql).all(...where.values, most + 1 - ids.length)) ids.push(id);
    if (ids.length > most) return null;
  }
  return ids;
}

/** Index reads for bounds on times; null without any. */
export function rangeSources(query: RunCountsQuery): Source[] | null {
  if (query.scheduled_after !== undefined) {
    const where = new Conditions().add("r.scheduled_time >= ?", query.scheduled_after);
    return [{ from: "runs r INDEXED BY runs_scheduled", where }];
  }
  if (query.start_after === undefined && query.start_before === undefined) return null;
  const where = new Conditions().add("r.end_time IS NOT NULL");
  if (query.start_after !== undefined) where.add(`${START} >= ?`, query.start_after);
  if (query.start_before !== undefined) where.add(`${START} <= ?`, query.start_before);
  return [{ from: "runs r INDEXED BY runs_start", where }, UNFINISHED];
}

type Position = { key: SqlValue; id: number } | null;

function phaseIds(
  statements: Statements,
  phase: Phase,
  selection: RunSelection,
  collected: readonly number[] | null,
  after: Position,
  limit: number,
): number[] {
  const conditions = selection.conditions.copy();
  if (phase.only !== "TRUE") conditions.add(phase.only);
  if (collected === null && phase.sources === ALL && selection.sources === null && selection.timed)
    return timedIds(statements, phase, selection, within(conditions, phase, after), after, limit);
  const found: [number, SqlValue][] = [];
  for (const { from, where, id = "r.id" } of sourcesFor(phase, selection, collected)) {
    const direction = phase.descending ? "DESC" : "ASC";
    const order = phase.key === null ? `${id} ${direction}` : `${phase.key} ${direction}, r.id ${direction}`;
    const wanted = within(conditions, phase, after, id);
    const sql = `SELECT r.id, ${phase.key ?? "NULL"} FROM ${from} WHERE ${where.sql} AND ${wanted.sql} ORDER BY ${order} LIMIT ?`;
    found.push(...statements.raw<[number, SqlValue]>(sql).all(...where.values, ...wanted.values, limit));
  }
  const sign = phase.descending ? -1 : 1;
  found.sort((a, b) => sign * (compareKeys(a[1], b[1]) || a[0] - b[0]));
  return found.slice(0, limit).map(([id]) => id);
}

/** By id, with bounds on the start: only the stretches of ids that have such runs are read. */
function timedIds(
  statements: Statements,
  phase: Phase,
  { bounds }: RunSelection,
  conditions: Conditions,
  after: Position,
  limit: number,
): number[] {
  const ids: number[] = [];
  const sql = `SELECT r.id FROM runs r NOT INDEXED WHERE r.id BETWEEN ? AND ? AND ${conditions.sql}
    ORDER BY r.id ${phase.descending ? "DESC" : "ASC"} LIMIT ?`;
  for (const [first, last] of runStretches(statements, bounds, after?.id ?? null, phase.descending)) {
    for (const [id] of statements.raw<[number]>(sql).all(first, last, ...conditions.values, limit - ids.length)) ids.push(id);
    if (ids.length >= limit) break;
  }
  return ids;
}

function sourcesFor(phase: Phase, selection: RunSelection, collected: readonly number[] | null): readonly Source[] {
  if (collected !== null) {
    const where = new Conditions().add("r.id IN (SELECT value FROM json_each(?))", JSON.stringify(collected));
    return [{ from: "runs r NOT INDEXED", where }];
  }
  return phase.key === null && phase.only === "TRUE" && selection.sources !== null ? selection.sources : phase.sources;
}

/** The conditions, and that a run lies beyond the position. */
function within(conditions: Conditions, phase: Phase, after: Position, id = "r.id"): Conditions {
  if (after === null) return conditions;
  const beyond = phase.descending ? "<" : ">";
  if (phase.key === null) return conditions.copy().add(`${id} ${beyond} ?`, after.id);
  const further = `${phase.key} ${beyond}= ? AND (${phase.key} ${beyond} ? OR r.id ${beyond} ?)`;
  return conditions.copy().add(further, after.key, after.key, after.id);
}

/** Order of keys as SQLite has it: numbers by value, text by its bytes. */
function compareKeys(a: SqlValue, b: SqlValue): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string" && typeof b === "string") return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return 0;
}

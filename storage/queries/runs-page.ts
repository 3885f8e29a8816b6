/**
 * GET /api/runs: filters, sorts and pages.
 *
 * Every sort has an index; unfinished runs are in none of the partial indexes and are read separately (they are few). If few
 * runs match a filter, they are read through the filter's index and sorted; otherwise the sort's index is scanned and the
 * filter applied to each row. Both ways find the same runs in the same order.
 *
 * No index supports a text search: a page scans a bounded number of runs in the order of the sort, returns a cursor where the
 * scan stopped, and may hold fewer runs than requested.
 *
 * SQLite only: INDEXED BY (nothing: plans are pinned for a connection), NOT INDEXED (nothing: plans are pinned for a
 * connection), CROSS JOIN (JOIN: it only fixes the order of the joins), json_each (= ANY of an array).
 */
import { SEARCHED_RUNS_MAX } from "#protocol/limits";
import type { RunCountsQuery, RunSort, RunsQuery } from "#protocol/records/run";
import { COUNT_KIND, stateCode } from "../schema/codes.ts";
import type { SqlValue } from "../sqlite/driver.ts";
import type { Statements } from "../sqlite/statements.ts";
import { type AnswerPart, type PageArguments, pagePart } from "./answer-part.ts";
import { Conditions } from "./conditions.ts";
import { type First, type Read, readFirst } from "./read-all.ts";
import { type RunSelection, type Source, selectRuns } from "./run-filters.ts";
import { type RunRecordRow, renderRun, SELECT_RUN } from "./run-record.ts";
import { runStretches } from "./stretch-walk.ts";

/** At most this many matches are read and sorted. */
const COLLECTED_MAX = 4_000;
/** The same for the order by id with bounds on the start, where the stretches that have such runs are known. */
const TIMED_COLLECTED_MAX = 1_000;
/** Index reads that one statement counts. */
const COUNTED_TOGETHER = 32;

/** One section of a sort order: rows for which `only` holds, by `key` (null: by id only). */
interface Phase {
  key: string | null;
  /** The common property of the phase's rows, as a condition on `r`. */
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

/**
 * A run that waits for its scheduled time: runs that wait for something else have a state name for it, or no scheduled time.
 */
const COMING = `r.end_time IS NULL AND r.start_time IS NULL AND r.scheduled_time IS NOT NULL
  AND r.state_type = ${stateCode("Scheduled")} AND r.state_name IS NULL`;
const STARTED = "r.end_time IS NULL AND r.start_time IS NOT NULL";
const WAITING = `r.end_time IS NULL AND r.start_time IS NULL AND NOT (${COMING})`;
const ENDED = from("runs r INDEXED BY runs_end", "r.end_time IS NOT NULL");

const SORTS: Record<RunSort, readonly Phase[]> = {
  created_desc: [idPhase(true)],
  created_asc: [idPhase(false)],
  start_desc: [startPhase(true)],
  start_asc: [startPhase(false)],
  duration_desc: [durationPhase(true), noDurationPhase(true)],
  duration_asc: [noDurationPhase(false), durationPhase(false)],
  name_asc: [{ key: "(r.name)", only: "TRUE", descending: false, sources: [from("runs r INDEXED BY runs_name")] }],
  scheduled_asc: [
    {
      key: "r.scheduled_time",
      only: "r.scheduled_time IS NOT NULL",
      descending: false,
      sources: [from("runs r INDEXED BY runs_scheduled")],
    },
    { key: null, only: "r.scheduled_time IS NULL", descending: false, sources: ALL },
  ],
  activity: [
    { key: "r.start_time", only: STARTED, descending: true, sources: [UNFINISHED] },
    { key: null, only: WAITING, descending: true, sources: [UNFINISHED] },
    { key: "r.end_time", only: "r.end_time IS NOT NULL", descending: true, sources: [ENDED] },
    { key: "r.scheduled_time", only: COMING, descending: false, sources: [UNFINISHED] },
  ],
};

export interface RunsPageOptions {
  /** At most this many matches are read and sorted. */
  collectedMax?: number;
  /** Number of runs that a search scans. */
  searchedMax?: number;
}

export interface RunsArguments extends PageArguments {
  query: RunsQuery;
  /** Ids found by an earlier part: the rest of the page, and one more if there are more. */
  found?: Found;
}

/** A part of a page of runs. */
export function runsPage(statements: Statements, args: RunsArguments, options: RunsPageOptions = {}): AnswerPart<RunsArguments> {
  const { query } = args;
  const found = args.found ?? runIds(statements, query, query.cursor ?? null, options);
  const { ids, reached } = found;
  const shown = ids.slice(0, query.limit);
  return pagePart(args, {
    limit: query.limit,
    rows: rowsOf(statements, shown, found.records),
    render: renderRun,
    cursor: ([id]) => id,
    // A run deleted between two parts must not end the list.
    reached: ids.length > shown.length ? (shown.at(-1) ?? null) : reached,
    rest: ([last], count) => ({
      query: { ...query, limit: query.limit - count },
      found: { ids: ids.slice(ids.indexOf(last) + 1), reached },
    }),
    endsEarly: isById(SORTS[query.sort]),
  });
}

const SELECT_RUNS = SELECT_RUN.replace("FROM runs r JOIN", "FROM json_each(?) j CROSS JOIN runs r ON r.id = j.value CROSS JOIN");

/** Rows of these runs, in the same order. */
function rowsOf(statements: Statements, ids: readonly number[], known?: Records | null): Iterable<RunRecordRow> {
  const rows = ids.map((id) => known?.get(id)).filter((row) => row !== undefined);
  if (rows.length === ids.length) return rows;
  // SQLite keeps the order of the list.
  const sql = statements.database.kind === "sqlite" ? SELECT_RUNS : `${SELECT_RUNS} ORDER BY j.place`;
  return statements.raw<RunRecordRow>(sql).iterate(JSON.stringify(ids));
}

/** Of PostgreSQL, where each statement takes a round trip: rows of runs that were read with their ids. */
type Records = Map<number, RunRecordRow>;

/** A row has parameters of any length, so no more are read at a time. */
const RECORDS_MAX = 200;

/**
 * The records of the runs whose id and key this statement reads, each behind its key. LATERAL and OFFSET make the order of the joins
 * fixed: the planner does not know how few rows a LIMIT leaves.
 */
function withRecords(sql: string): string {
  return `SELECT q.key, record.* FROM (${sql}) AS q (id, key)
    JOIN LATERAL (${SELECT_RUN} WHERE r.id = q.id OFFSET 0) AS record ON TRUE`;
}

export interface Found {
  /** Ids of the page, and one more if there are more. */
  ids: number[];
  /** The last run that a search scanned before it stopped; null if it reached the end. */
  reached: number | null;
  records?: Records | null;
}

function runIds(statements: Statements, query: RunsQuery, cursor: number | null, options: RunsPageOptions): Found {
  const { collectedMax = COLLECTED_MAX, searchedMax = SEARCHED_RUNS_MAX } = options;
  const ids: number[] = [];
  const records: Records | null = statements.database.kind === "postgres" && query.limit < RECORDS_MAX ? new Map() : null;
  const selection = selectRuns(statements, query);
  if (!selection.possible) return { ids, reached: null };
  const phases = SORTS[query.sort];
  const start = cursor === null ? { phase: 0, key: null } : positionOf(statements, phases, cursor);
  if (start === null) return { ids, reached: null };
  const most = readsStretches(selection) ? Math.min(TIMED_COLLECTED_MAX, collectedMax) : collectedMax;
  const few = isById(phases)
    ? fewOf(statements, selection.sources === null ? rangeSources(query) : null, most)
    : fewSources(statements, query, selection, collectedMax);
  for (const [index, phase] of phases.entries()) {
    if (index < start.phase) continue;
    const after = index === start.phase && cursor !== null ? { key: start.key, id: cursor } : null;
    const through = selection.searched && few === null ? farthest(statements, phase, selection, after, searchedMax) : null;
    const limit = query.limit + 1 - ids.length;
    ids.push(...phaseIds(statements, phase, selection, few, { after, through }, limit, records));
    if (ids.length > query.limit) break;
    if (through !== null) return { ids, reached: through.id, records };
  }
  return { ids, reached: null, records };
}

/** True for the order by id, where the id of any run is a cursor. */
function isById(phases: readonly Phase[]): boolean {
  return phases.every((phase) => phase.key === null && phase.only === "TRUE");
}

/** Whether an order by id without other sources reads only the stretches of ids that have runs within the bounds. */
function readsStretches({ timed, searched }: RunSelection): boolean {
  return timed && !searched;
}

/** The position where a search has scanned enough runs of the phase after `after`; null when fewer runs are left. */
function farthest(statements: Statements, phase: Phase, selection: RunSelection, after: Position, searchedMax: number): Position {
  const sources = sourcesFor(phase, selection, null);
  const share = Math.ceil(searchedMax / sources.length);
  const ends = sources.flatMap(({ from, where, id = "r.id" }) => {
    const wanted = within(new Conditions().add(phase.only), phase, { after, through: null }, id);
    const sql = `SELECT ${id}, ${phase.key ?? "NULL"} FROM ${from} WHERE ${where.sql} AND ${wanted.sql}
      ORDER BY ${orderOf(phase, id)} LIMIT 2 OFFSET ?`;
    const [last, next] = statements.raw<[number, SqlValue]>(sql).all(...where.values, ...wanted.values, share - 1);
    return last === undefined || next === undefined ? [] : [last];
  });
  const nearest = ends.sort(inOrder(phase))[0];
  return nearest === undefined ? null : { id: nearest[0], key: nearest[1] };
}

/** The phase of the cursor's run, and the run's key there. For the order by id the run need not exist any more. */
function positionOf(statements: Statements, phases: readonly Phase[], cursor: number): { phase: number; key: SqlValue } | null {
  if (phases.length === 1 && phases[0]?.key === null) return { phase: 0, key: null };
  for (const [phase, { key, only }] of phases.entries()) {
    const row = statements.raw<[SqlValue]>(`SELECT ${key ?? "NULL"} FROM runs r WHERE r.id = ? AND ${only}`).get(cursor);
    if (row !== undefined) return { phase, key: row[0] };
  }
  return null;
}

/** The filters' own index reads if they find few runs; null if they find many, or no index covers the filters. */
function fewSources(
  statements: Statements,
  query: RunCountsQuery,
  selection: RunSelection,
  most: number,
): readonly Source[] | null {
  const range = rangeSources(query);
  if (selection.counted !== null) {
    const isFew = storedCount(statements, selection.counted) <= most;
    if (!isFew && range === null) return null;
    if (selection.sources !== null) return isFew ? selection.sources : null;
  }
  return fewOf(statements, selection.sources ?? range, most);
}

/** These index reads, if they find few runs. */
function fewOf(statements: Statements, sources: readonly Source[] | null, most: number): readonly Source[] | null {
  return sources === null || findMore(statements, sources, most) ? null : sources;
}

function storedCount(statements: Statements, { flows, states }: NonNullable<RunSelection["counted"]>): number {
  const ofFlows = flows === null ? "" : "AND flow_id IN (SELECT value FROM json_each(?))";
  const sql = `SELECT coalesce(sum(count), 0) FROM counts WHERE kind = ${COUNT_KIND.runs} ${ofFlows}
    AND state_type IN (SELECT value FROM json_each(?))`;
  const values = flows === null ? [] : [JSON.stringify(flows)];
  return statements.raw<[number]>(sql).get(...values, JSON.stringify(states))?.[0] ?? 0;
}

/** Whether the index reads find more runs. */
function findMore(statements: Statements, sources: readonly Source[], most: number): boolean {
  let left = most;
  for (let index = 0; index < sources.length && left >= 0; index += COUNTED_TOGETHER) {
    const some = sources.slice(index, index + COUNTED_TOGETHER);
    const found = some.map(({ from, where }) => `SELECT 1 FROM ${from} WHERE ${where.sql}`).join(" UNION ALL ");
    const sql = `SELECT count(*) FROM (SELECT 1 FROM (${found}) AS found LIMIT ?) AS counted`;
    const [count] = statements.raw<[number]>(sql).get(...some.flatMap(({ where }) => where.values), left + 1) ?? [0];
    left -= count;
  }
  return left < 0;
}

/** Index reads for bounds on the start; null without bounds. */
export function rangeSources(query: RunCountsQuery): Source[] | null {
  if (query.scheduled_after !== undefined) {
    const where = new Conditions().add("r.scheduled_time >= ?", query.scheduled_after);
    return [{ from: "runs r INDEXED BY runs_scheduled", where }];
  }
  const where = new Conditions().add("r.end_time IS NOT NULL");
  if (query.ended_after !== undefined || query.ended_before !== undefined) {
    if (query.ended_after !== undefined) where.add("r.end_time >= ?", query.ended_after);
    if (query.ended_before !== undefined) where.add("r.end_time < ?", query.ended_before);
    return [{ from: "runs r INDEXED BY runs_end", where }];
  }
  if (query.start_after === undefined && query.start_before === undefined) return null;
  if (query.start_after !== undefined) where.add(`${START} >= ?`, query.start_after);
  if (query.start_before !== undefined) where.add(`${START} <= ?`, query.start_before);
  return [{ from: "runs r INDEXED BY runs_start", where }, UNFINISHED];
}

type Position = { key: SqlValue; id: number } | null;

/** A section of an order: runs after one position, through another. */
interface Piece {
  after: Position;
  through: Position;
}

function phaseIds(
  statements: Statements,
  phase: Phase,
  selection: RunSelection,
  few: readonly Source[] | null,
  piece: Piece,
  limit: number,
  records: Records | null,
): number[] {
  const conditions = selection.conditions.copy();
  if (phase.only !== "TRUE") conditions.add(phase.only);
  if (few === null && phase.sources === ALL && selection.sources === null && readsStretches(selection))
    return timedIds(statements, phase, selection, within(conditions, phase, piece), piece.after, limit, records);
  // SQLite reads the index that the text names. PostgreSQL would follow the order and filter, so it finds the rows first.
  const findsFirst = few !== null && statements.database.kind === "postgres";
  const reads = sourcesFor(phase, selection, few).map(({ from, where, id = "r.id" }) => {
    const wanted = within(conditions, phase, piece, id);
    const rows = `SELECT r.id, ${phase.key ?? "NULL"} FROM ${from} WHERE ${where.sql} AND ${wanted.sql}`;
    const sql = findsFirst
      ? `SELECT * FROM (${rows} OFFSET 0) AS found ORDER BY ${orderOf(phase, "1", "2")} LIMIT ?`
      : `${rows} ORDER BY ${orderOf(phase, id)} LIMIT ?`;
    return { sql, values: [...where.values, ...wanted.values, limit] };
  });
  return readIds(statements, reads, phase, limit, records);
}

type IdAndKey = [id: number, key: SqlValue];

/** The first ids of these reads of ids and keys. With `records`, the records of these runs are read too and added there. */
function readIds(statements: Statements, reads: readonly Read[], phase: Phase, limit: number, records: Records | null): number[] {
  const first = { order: orderOf(phase, "1", "2"), limit };
  const found = records === null ? readFirst<IdAndKey>(statements, reads, first) : readRecords(statements, reads, first, records);
  return found
    .sort(inOrder(phase))
    .slice(0, limit)
    .map(([id]) => id);
}

function readRecords(statements: Statements, reads: readonly Read[], first: First, records: Records): IdAndKey[] {
  const rows = readFirst<[SqlValue, ...RunRecordRow]>(statements, reads, { ...first, widened: withRecords });
  return rows.map(([key, ...record]) => {
    records.set(record[0], record);
    return [record[0], key];
  });
}

/** The order of a phase, by these columns. */
function orderOf({ key, descending }: Phase, id: string, keyColumn = key): string {
  const direction = descending ? "DESC" : "ASC";
  return key === null ? `${id} ${direction}` : `${keyColumn} ${direction}, ${id} ${direction}`;
}

function inOrder(phase: Phase) {
  const sign = phase.descending ? -1 : 1;
  return (a: IdAndKey, b: IdAndKey) => sign * (compareKeys(a[1], b[1]) || a[0] - b[0]);
}

/** By id with bounds on the start: reads only the stretches that contain such runs. */
function timedIds(
  statements: Statements,
  phase: Phase,
  { bounds }: RunSelection,
  conditions: Conditions,
  after: Position,
  limit: number,
  records: Records | null,
): number[] {
  const ids: number[] = [];
  const sql = `SELECT r.id, NULL FROM runs r NOT INDEXED WHERE r.id BETWEEN ? AND ? AND ${conditions.sql}
    ORDER BY r.id ${phase.descending ? "DESC" : "ASC"} LIMIT ?`;
  for (const [first, last] of runStretches(statements, bounds, after?.id ?? null, phase.descending)) {
    const left = limit - ids.length;
    ids.push(...readIds(statements, [{ sql, values: [first, last, ...conditions.values, left] }], phase, left, records));
    if (ids.length >= limit) break;
  }
  return ids;
}

function sourcesFor(phase: Phase, selection: RunSelection, few: readonly Source[] | null): readonly Source[] {
  if (few !== null) return few;
  return phase.key === null && phase.only === "TRUE" && selection.sources !== null ? selection.sources : phase.sources;
}

/** The conditions, restricted to the piece. */
function within(conditions: Conditions, phase: Phase, { after, through }: Piece, id = "r.id"): Conditions {
  const all = conditions.copy();
  const beyond = phase.descending ? "<" : ">";
  const before = phase.descending ? ">" : "<";
  if (phase.key === null) {
    if (after !== null) all.add(`${id} ${beyond} ?`, after.id);
    if (through !== null) all.add(`${id} ${before}= ?`, through.id);
    return all;
  }
  const side = (to: string) => `${phase.key} ${to}= ? AND (${phase.key} ${to} ? OR r.id ${to}`;
  if (after !== null) all.add(`${side(beyond)} ?)`, after.key, after.key, after.id);
  if (through !== null) all.add(`${side(before)}= ?)`, through.key, through.key, through.id);
  return all;
}

/** Order of keys as in SQLite: numbers by value, text by bytes. */
function compareKeys(a: SqlValue, b: SqlValue): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string" && typeof b === "string") return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return 0;
}

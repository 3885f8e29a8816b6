/**
 * GET /api/runs/counts: how many runs match the filters of GET /api/runs, by state name.
 *
 * Without a filter, or with filters on flow and state type only, ended runs are counted from the writer's counts and the
 * index of sub-states; only unfinished runs are counted row by row. With other filters the matching rows are counted; with a
 * search, only those among the newest runs.
 *
 * SQLite only: INDEXED BY (nothing: plans are pinned for a connection), NOT INDEXED (nothing: plans are pinned for a
 * connection).
 */
import { SEARCHED_RUNS_MAX } from "#protocol/limits";
import type { RunCountsQuery } from "#protocol/records/run";
import { type StateType, SUB_STATES } from "#protocol/records/state";
import { COUNT_KIND, ENDED_CODES, stateType } from "../schema/codes.ts";
import type { Statements } from "../sqlite/statements.ts";
import { Conditions } from "./conditions.ts";
import { type Source, selectRuns } from "./run-filters.ts";
import { rangeSources } from "./runs-page.ts";

type Row = [state_type: number, state_name: string | null, count: number];

const COLUMNS = "SELECT r.state_type, r.state_name, count(*)";
const ALL: readonly Source[] = [{ from: "runs r NOT INDEXED", where: new Conditions() }];
const GROUPS = "GROUP BY r.state_type, r.state_name";

class Tally {
  readonly #states = new Map<string, number>();
  #total = 0;
  /** True when some runs were not searched. */
  more = false;

  add(name: string, count: number): void {
    this.#states.set(name, (this.#states.get(name) ?? 0) + count);
    this.#total += count;
  }

  get json(): string {
    // In the order of the names: the order in which sources find states differs from store to store.
    const states = [...this.#states]
      .filter(([, count]) => count > 0)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, count]) => `${JSON.stringify(name)}:${count}`);
    return `{"total":${this.#total},"states":{${states.join(",")}}${this.more ? ',"more":true' : ""}}`;
  }
}

/** Counts as JSON text. */
export function runCounts(statements: Statements, query: RunCountsQuery, searchedMax = SEARCHED_RUNS_MAX): string {
  const tally = new Tally();
  if (Object.values(query).every((value) => value === undefined)) countAll(statements, tally);
  else if (isKept(query)) countKept(statements, query, tally);
  else countFound(statements, query, searchedMax, tally);
  return tally.json;
}

/** True when the query filters by flow and state type only, for which the writer maintains counts. */
function isKept({ project: _project, flow: _flow, flow_id: _id, states: _states, state_type: _type, ...others }: RunCountsQuery) {
  return Object.values(others).every((value) => value === undefined);
}

function countKept(statements: Statements, query: RunCountsQuery, tally: Tally): void {
  const { possible, conditions } = selectRuns(statements, query);
  if (!possible) return;
  const rest = (where: string) => `${where} AND ${conditions.sql}`;
  const ended = `SELECT r.state_type, sum(r.count) FROM counts r
    ${rest(`WHERE r.kind = ${COUNT_KIND.runs} AND r.state_type IN (${ENDED_CODES.join(", ")})`)} GROUP BY r.state_type`;
  for (const [type, count] of statements.raw<[number, number]>(ended).all(...conditions.values))
    tally.add(stateType(type), count);
  const named = `${COLUMNS} FROM runs r INDEXED BY runs_sub_state
    ${rest("WHERE r.end_time IS NOT NULL AND r.state_name IS NOT NULL")} ${GROUPS}`;
  for (const [type, name, count] of statements.raw<Row>(named).all(...conditions.values)) {
    tally.add(name ?? stateType(type), count);
    tally.add(stateType(type), -count);
  }
  const unfinished = `${COLUMNS} FROM runs r INDEXED BY runs_unfinished ${rest("WHERE r.end_time IS NULL")} ${GROUPS}`;
  addRows(tally, statements.raw<Row>(unfinished).all(...conditions.values));
}

function countAll(statements: Statements, tally: Tally): void {
  const ended = `SELECT state_type, sum(count) FROM counts WHERE kind = ${COUNT_KIND.runs}
    AND state_type IN (${ENDED_CODES.join(", ")}) GROUP BY state_type`;
  for (const [type, count] of statements.raw<[number, number]>(ended).all()) tally.add(stateType(type), count);
  const named = `SELECT r.state_name, count(*) FROM runs r INDEXED BY runs_sub_state
    WHERE r.end_time IS NOT NULL AND r.state_name IS NOT NULL GROUP BY r.state_name`;
  for (const [name, count] of statements.raw<[string, number]>(named).all()) {
    tally.add(name, count);
    for (const [type, part] of typesNamed(statements, name, count)) tally.add(type, -part);
  }
  const unfinished = `${COLUMNS} FROM runs r INDEXED BY runs_unfinished WHERE r.end_time IS NULL ${GROUPS}`;
  addRows(tally, statements.raw<Row>(unfinished).all());
}

/** Types of the ended runs with this name: one type for a catalogue name, any type for other names. */
function typesNamed(statements: Statements, name: string, count: number): [StateType, number][] {
  if (Object.hasOwn(SUB_STATES, name)) return [[SUB_STATES[name as keyof typeof SUB_STATES], count]];
  const sql = `SELECT r.state_type, count(*) FROM runs r INDEXED BY runs_sub_state
    WHERE r.end_time IS NOT NULL AND r.state_name = ? GROUP BY r.state_type`;
  return statements
    .raw<[number, number]>(sql)
    .all(name)
    .map(([type, part]) => [stateType(type), part]);
}

function countFound(statements: Statements, query: RunCountsQuery, searchedMax: number, tally: Tally): void {
  const selection = selectRuns(statements, query);
  if (!selection.possible) return;
  const { conditions, searched } = selection;
  const sources = selection.sources ?? (searched ? null : rangeSources(query)) ?? ALL;
  for (const { from, where, id = "r.id" } of sources) {
    const wanted = where.copy();
    const first = searched ? firstSearched(statements, { from, where, id }, Math.ceil(searchedMax / sources.length)) : null;
    if (first !== null) {
      wanted.add(`${id} >= ?`, first);
      tally.more = true;
    }
    const sql = `${COLUMNS} FROM ${from} WHERE ${wanted.sql} AND ${conditions.sql} ${GROUPS}`;
    addRows(tally, statements.raw<Row>(sql).all(...wanted.values, ...conditions.values));
  }
}

/** The oldest of the newest `most` runs of a source; null when the source has no more than that. */
function firstSearched(statements: Statements, { from, where, id }: Required<Source>, most: number): number | null {
  const sql = `SELECT ${id} FROM ${from} WHERE ${where.sql} ORDER BY ${id} DESC LIMIT 2 OFFSET ?`;
  const [first, next] = statements.raw<[number]>(sql).all(...where.values, most - 1);
  return first === undefined || next === undefined ? null : first[0];
}

function addRows(tally: Tally, rows: readonly Row[]): void {
  for (const [type, name, count] of rows) tally.add(name ?? stateType(type), count);
}

/**
 * The filters of GET /api/runs as conditions on rows, and as sources: index reads that together find every matching run, each
 * in order of id.
 *
 * SQLite only: INDEXED BY (nothing: plans are pinned for a connection), CROSS JOIN (JOIN: it only fixes the order of the
 * joins), json_each (= ANY of an array).
 */
import { SEARCHED_PARAMETERS_BYTES_MAX } from "#protocol/limits";
import type { RunsQuery } from "#protocol/records/run";
import { ENDED_CODES, stateCode, UNFINISHED_CODES } from "../schema/codes.ts";
import type { Statements } from "../sqlite/statements.ts";
import { addContains, Conditions, contains } from "./conditions.ts";
import { addStartFilters, addStateFilters, allFlowIds, flowIds, stateCodeOf, stateCodesOf } from "./filters.ts";
import { addParameters } from "./parameter-filter.ts";

/** The filters of the query, without limit, sort and cursor. `exact_name` is set only by the server. */
export type RunFilters = Partial<RunsQuery> & { exact_name?: string };

/** State types in the partial index of failed runs. */
const WENT_WRONG_CODES: readonly number[] = ["Failed", "Crashed"].map(stateCode);

/** Beyond this many index reads, one scan of the table is cheaper. */
const SOURCES_MAX = 320;

/** An index read: FROM clause (with `r` as the run) and its WHERE conditions. */
export interface Source {
  from: string;
  where: Conditions;
  /** The run id as this index stores it, if not `r.id`: ordering by that column needs no sort. */
  id?: string;
}

export interface RunSelection {
  /** False when no run can match. */
  possible: boolean;
  /** All filters, as conditions on `r`. */
  conditions: Conditions;
  /** Index reads that cover the filters; null when only a scan of all runs does. Finding them may take a statement. */
  readonly sources: Source[] | null;
  /**
   * The flows (null for all) and states of all runs that the sources read, where they read all runs of these: the store has their
   * number.
   */
  counted: { flows: readonly number[] | null; states: readonly number[] } | null;
  /** Bounds on the start, and whether there are any. */
  bounds: { start_after?: number; start_before?: number };
  timed: boolean;
  /** The filters include a text search or parameters, which no index supports. */
  searched: boolean;
}

export function selectRuns(statements: Statements, filters: RunFilters): RunSelection {
  const conditions = new Conditions();
  const flows = flowIds(statements, filters);
  const tags = tagCodes(statements, filters.tags ?? []);
  const impossible = flows?.length === 0 || tags === null || typesOf(filters)?.length === 0;
  const timed = filters.start_after !== undefined || filters.start_before !== undefined;
  const searched = (filters.search ?? "").trim() !== "" || filters.parameters !== undefined;
  const common = { conditions, bounds: filters, timed, searched };
  if (impossible) return { ...common, possible: false, sources: [], counted: null };
  if (flows !== null) {
    conditions.add(
      flows.length === 1 ? "r.flow_id = ?" : `r.flow_id IN (SELECT value FROM json_each(?))`,
      flows.length === 1 ? (flows[0] ?? 0) : JSON.stringify(flows),
    );
  }
  addStateFilters(conditions, "r", filters);
  addStartFilters(conditions, "r", filters);
  addTags(conditions, tags);
  if (filters.name !== undefined) addContains(conditions, "r.name", filters.name);
  if (filters.exact_name !== undefined) conditions.add("r.name = ?", filters.exact_name);
  addSearch(statements, conditions, filters.search ?? "");
  addParameters(conditions, filters.parameters ?? {});
  if (filters.ended_after !== undefined) conditions.add("r.end_time >= ?", filters.ended_after);
  if (filters.ended_before !== undefined) conditions.add("r.end_time < ?", filters.ended_before);
  if (filters.schedule_id !== undefined) conditions.add("r.schedule_id = ?", filters.schedule_id);
  if (filters.backfill_id !== undefined) conditions.add("r.backfill_id = ?", filters.backfill_id);
  if (filters.scheduled_after !== undefined) conditions.add("r.scheduled_time >= ?", filters.scheduled_after);
  const sources = sourcesOf(statements, filters, flows, tags);
  if (sources !== null) return { ...common, possible: true, sources, counted: null };
  const types = typesOf(filters);
  if (flows === null && types === null) return { ...common, possible: true, sources: null, counted: null };
  let ofFlows: Source[] | null | undefined;
  return {
    ...common,
    possible: true,
    counted: { flows, states: statesOf(types) },
    get sources() {
      if (ofFlows === undefined) ofFlows = flowSources(flows ?? allFlowIds(statements), types);
      return ofFlows;
    },
  };
}

/** Few tags are looked up separately; many would exceed SQLite's limit on terms. */
const TAG_TERMS_MAX = 8;

function addTags(conditions: Conditions, tags: readonly number[]): void {
  if (tags.length > TAG_TERMS_MAX) {
    const carried = "SELECT count(*) FROM run_tags x WHERE x.run_id = r.id AND x.tag IN (SELECT value FROM json_each(?))";
    conditions.add(`(${carried}) = ?`, JSON.stringify(tags), tags.length);
  } else for (const tag of tags) conditions.add("EXISTS (SELECT 1 FROM run_tags x WHERE x.tag = ? AND x.run_id = r.id)", tag);
}

/** Each word has to be contained in one of these texts. Texts that may lie on overflow pages are read last. */
function addSearch(statements: Statements, conditions: Conditions, search: string): void {
  for (const word of search.split(/\s+/)) {
    if (word === "") continue;
    const named = contains("project || '/' || name", word);
    const flows = statements.raw<[number]>(`SELECT id FROM flows WHERE ${named.sql}`).all(named.value);
    const texts = ["r.name", "r.tags", "r.state_message"].map((column) => contains(column, word));
    const parameters = contains("r.parameters", word);
    conditions.add(
      `(r.flow_id IN (SELECT value FROM json_each(?)) OR ${texts.map(({ sql }) => sql).join(" OR ")} OR
        octet_length(r.parameters) <= ${SEARCHED_PARAMETERS_BYTES_MAX} AND ${parameters.sql})`,
      JSON.stringify(flows.map(([id]) => id)),
      ...[...texts, parameters].map(({ value }) => value),
    );
  }
}

function tagCodes(statements: Statements, tags: readonly string[]): number[] | null {
  const codes: number[] = [];
  for (const tag of new Set(tags)) {
    const row = statements.raw<[number]>("SELECT id FROM names WHERE (name) = (?)").get(tag);
    if (row === undefined) return null;
    codes.push(row[0]);
  }
  return codes;
}

function source(from: string, term: string, ...values: number[]): Source {
  return { from, where: new Conditions().add(term, ...values) };
}

/** Index reads by the most selective filter; null where only flows and states select. */
function sourcesOf(
  statements: Statements,
  filters: RunFilters,
  flows: readonly number[] | null,
  tags: readonly number[],
): Source[] | null {
  if (filters.backfill_id !== undefined)
    return [source("runs r INDEXED BY runs_backfill", "r.backfill_id = ?", filters.backfill_id)];
  if (filters.schedule_id !== undefined)
    return [source("runs r INDEXED BY runs_schedule", "r.schedule_id = ?", filters.schedule_id)];
  if (filters.exact_name !== undefined)
    return [{ from: "runs r INDEXED BY runs_name", where: new Conditions().add("(r.name) = (?)", filters.exact_name) }];
  if (tags[0] !== undefined)
    return [{ ...source("run_tags g CROSS JOIN runs r ON r.id = g.run_id", "g.tag = ?", tags[0]), id: "g.run_id" }];
  const types = typesOf(filters);
  if (filters.ended_after !== undefined && types?.every((code) => WENT_WRONG_CODES.includes(code)))
    return [source("runs r INDEXED BY runs_went_wrong", "r.state_type IN (4, 6) AND r.end_time >= ?", filters.ended_after)];
  if (filters.state_name !== undefined) return nameSources(statements, filters.state_name, flows, types);
  return null;
}

/** The states whose runs the sources of flows read for these state types. */
function statesOf(types: readonly number[] | null): readonly number[] {
  const { ended, unfinished } = partsOf(types);
  return unfinished ? [...ended, ...UNFINISHED_CODES] : ended;
}

/** Runs by state name: runs whose type has this name, and runs with this name and any type. */
function nameSources(
  statements: Statements,
  name: string,
  flows: readonly number[] | null,
  types: readonly number[] | null,
): Source[] | null {
  const code = stateCodeOf(name);
  if (code === null && flows !== null) return flowSources(flows, types);
  const named = new Conditions().add("r.end_time IS NOT NULL AND r.state_name = ?", name);
  const sources: Source[] = [{ from: "runs r INDEXED BY runs_sub_state", where: named }];
  if (code === null) return [...sources, source("runs r INDEXED BY runs_unfinished", "r.end_time IS NULL")];
  // A name equal to its type is stored as NULL, so exclude that type: no run is in two sources.
  named.add("r.state_type <> ?", code);
  const typed = flowSources(flows ?? allFlowIds(statements), [code], true);
  return typed === null ? null : [...sources, ...typed];
}

/** Codes of the state types that the filters allow; null for all types. */
function typesOf({ state_type, states }: RunFilters): readonly number[] | null {
  const codes = states === undefined ? null : stateCodesOf(states);
  if (state_type === undefined) return codes;
  const code = stateCodeOf(state_type);
  return code === null || codes?.includes(code) === false ? [] : [code];
}

/** Ended runs of these flows in these states, and unfinished runs of the flows if the states include an unfinished one. */
function flowSources(flows: readonly number[], states: readonly number[] | null, alsoUnfinished = false): Source[] | null {
  const parts = partsOf(states);
  const { ended } = parts;
  const unfinished = alsoUnfinished || parts.unfinished;
  if (flows.length * (ended.length + 1) > SOURCES_MAX) return null;
  const sources: Source[] = [];
  for (const flow of flows) {
    const term = "r.flow_id = ? AND r.state_type = ? AND r.end_time IS NOT NULL";
    for (const code of ended) sources.push(source("runs r INDEXED BY runs_ended", term, flow, code));
    if (unfinished) sources.push(source("runs r INDEXED BY runs_unfinished", "r.flow_id = ? AND r.end_time IS NULL", flow));
  }
  return sources;
}

/** The states of ended runs among these, and whether there are others. */
function partsOf(states: readonly number[] | null): { ended: readonly number[]; unfinished: boolean } {
  if (states === null) return { ended: ENDED_CODES, unfinished: true };
  return {
    ended: states.filter((code) => ENDED_CODES.includes(code)),
    unfinished: states.some((code) => !ENDED_CODES.includes(code)),
  };
}

/**
 * GET /api/task-runs (newest first), and the task runs of one run.
 *
 * SQLite only: INDEXED BY (nothing: plans are pinned for a connection), NOT INDEXED (nothing: plans are pinned for a
 * connection), CROSS JOIN (JOIN: it only fixes the order of the joins), json_each (= ANY of an array).
 */
import type { TaskRunsQuery } from "#protocol/records/task-run";
import { ENDED_CODES, STRETCH_KIND } from "../schema/codes.ts";
import type { Statements } from "../sqlite/statements.ts";
import { type AnswerPart, arrayPart, type Continued, type PageArguments, pagePart } from "./answer-part.ts";
import { addContains, Conditions } from "./conditions.ts";
import { addStartFilters, addStateFilters, flowIds, stateCodeOf } from "./filters.ts";
import { matchingStretches, type StretchFilter } from "./stretch-walk.ts";
import { renderTaskRun, SELECT_TASK_RUN, type TaskRunRecordRow } from "./task-run-record.ts";

/** A list of rows that belong to a run or task run: all rows, or a limited number after an id. */
export interface OwnedArguments extends Continued {
  id: number;
  query?: { after?: number; limit?: number };
}

/** A part of the task runs of a run, oldest first. */
export function taskRunsOfRun(statements: Statements, args: OwnedArguments): AnswerPart<OwnedArguments> {
  const { after = 0, limit = -1 } = args.query ?? {};
  const sql = `${SELECT_TASK_RUN} WHERE t.run_id = ? AND t.id > ? ORDER BY t.id LIMIT ?`;
  const rows = statements.raw<TaskRunRecordRow>(sql).iterate(args.id, after, limit);
  return arrayPart(args, rows, renderTaskRun, (last, count) => ({ query: restOf(args.query, last[0], count) }));
}

/** The query that continues after the last of `count` items. */
export function restOf(query: OwnedArguments["query"], last: number, count: number): { after: number; limit?: number } {
  return query?.limit === undefined ? { after: last } : { after: last, limit: query.limit - count };
}

export interface TaskRunsArguments extends PageArguments {
  query: TaskRunsQuery;
}

/** A part of a page of task runs. */
export function taskRunsPage(statements: Statements, args: TaskRunsArguments): AnswerPart<TaskRunsArguments> {
  const { query } = args;
  return pagePart(args, {
    limit: query.limit,
    rows: findRows(statements, query),
    render: renderTaskRun,
    cursor: ([id]) => id,
    rest: ([cursor], count) => ({ query: { ...query, cursor, limit: query.limit - count } }),
  });
}

/** Task runs of the page, and one more if there are more. */
function findRows(statements: Statements, query: TaskRunsQuery): Iterable<TaskRunRecordRow> {
  const flows = flowIds(statements, query);
  const code = query.state_type === undefined ? null : stateCodeOf(query.state_type);
  if (flows?.length === 0 || (query.state_type !== undefined && code === null)) return [];
  const conditions = new Conditions();
  if (flows !== null) conditions.add("r.flow_id IN (SELECT value FROM json_each(?))", JSON.stringify(flows));
  addStateFilters(conditions, "t", query);
  addStartFilters(conditions, "t", query);
  if (query.name !== undefined) addContains(conditions, "t.name", query.name);
  const limit = query.limit + 1;
  if (query.run_id !== undefined) conditions.add("t.run_id = ?", query.run_id);
  const cursor = query.cursor ?? null;
  const wanted = stretchFilters(statements, query, flows, code);
  if (query.run_id !== undefined) return select(statements, "", conditions, cursor, limit);
  if (code !== null && !ENDED_CODES.includes(code))
    return select(statements, "INDEXED BY task_runs_unfinished", conditions.add("t.end_time IS NULL"), cursor, limit);
  if (wanted === null) return [];
  if (wanted.length === 0) return select(statements, "NOT INDEXED", conditions, cursor, limit);
  return selectWithin(statements, wanted, conditions, cursor, limit);
}

/** Rows of the stretches of ids in which the filters have matches. */
function* selectWithin(
  statements: Statements,
  wanted: readonly StretchFilter[],
  conditions: Conditions,
  cursor: number | null,
  limit: number,
): Generator<TaskRunRecordRow> {
  let left = limit;
  for (const [first, last] of matchingStretches(statements, wanted, cursor, true)) {
    const within = conditions.copy().add("t.id BETWEEN ? AND ?", first, last);
    for (const row of select(statements, "NOT INDEXED", within, cursor, left)) {
      left -= 1;
      yield row;
    }
    if (left <= 0) return;
  }
}

/** The filters as the coarse index can apply them: kind and wanted values; null when nothing can match. */
function stretchFilters(statements: Statements, query: TaskRunsQuery, flows: readonly number[] | null, code: number | null) {
  const wanted: { kind: number; values: readonly number[] }[] = [];
  if (flows !== null) wanted.push({ kind: STRETCH_KIND.task_flow, values: flows });
  if (code !== null) wanted.push({ kind: STRETCH_KIND.task_state, values: [code] });
  if (query.state_name !== undefined && stateCodeOf(query.state_name) === null) {
    const row = statements.raw<[number]>("SELECT id FROM names WHERE (name) = (?)").get(query.state_name);
    if (row === undefined) return null;
    wanted.push({ kind: STRETCH_KIND.task_state_name, values: [row[0]] });
  }
  return wanted;
}

function select(
  statements: Statements,
  index: string,
  conditions: Conditions,
  cursor: number | null,
  limit: number,
): Iterable<TaskRunRecordRow> {
  const all = conditions.copy();
  if (cursor !== null) all.add("t.id < ?", cursor);
  const base = SELECT_TASK_RUN.replace("FROM task_runs t JOIN", `FROM task_runs t ${index} CROSS JOIN`);
  return statements.raw<TaskRunRecordRow>(`${base} WHERE ${all.sql} ORDER BY t.id DESC LIMIT ?`).iterate(...all.values, limit);
}

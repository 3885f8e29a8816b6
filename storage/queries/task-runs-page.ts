/** GET /api/task-runs (newest first), and the task runs of one run. */
import type { TaskRunsQuery } from "#protocol/task-run";
import { ENDED_CODES, STRETCH_KIND } from "../codes.ts";
import type { Statements } from "../statements.ts";
import { Conditions, containsPattern } from "./conditions.ts";
import { addStartFilters, addStateFilters, flowIds, stateCodeOf } from "./filters.ts";
import { page } from "./json.ts";
import { stretchesOf } from "./stretch-walk.ts";
import { renderTaskRun, SELECT_TASK_RUN, type TaskRunRow } from "./task-run-record.ts";

/** The task runs of a run, oldest first, as JSON text. */
export function taskRunsOfRun(statements: Statements, run: number): string {
  const rows = statements.raw<TaskRunRow>(`${SELECT_TASK_RUN} WHERE t.run_id = ? ORDER BY t.id`).all(run);
  return `[${rows.map(renderTaskRun).join(",")}]`;
}

/** A page of task runs as JSON text. */
export function taskRunsPage(statements: Statements, query: TaskRunsQuery): string {
  const rows = findRows(statements, query);
  const more = rows.length > query.limit;
  const shown = more ? rows.slice(0, query.limit) : rows;
  return page(shown.map(renderTaskRun), more ? (shown.at(-1)?.[0] ?? null) : null);
}

function findRows(statements: Statements, query: TaskRunsQuery): TaskRunRow[] {
  const flows = flowIds(statements, query);
  const code = query.state_type === undefined ? null : stateCodeOf(query.state_type);
  if (flows?.length === 0 || (query.state_type !== undefined && code === null)) return [];
  const conditions = new Conditions();
  if (flows !== null) conditions.add("r.flow_id IN (SELECT value FROM json_each(?))", JSON.stringify(flows));
  addStateFilters(conditions, "t", query);
  addStartFilters(conditions, "t", query);
  if (query.name !== undefined) conditions.add(`t.name LIKE ? ESCAPE '\\'`, containsPattern(query.name));
  const limit = query.limit + 1;
  if (query.run_id !== undefined) conditions.add("t.run_id = ?", query.run_id);
  if (query.run_id !== undefined) return select(statements, "", conditions, query.cursor ?? null, limit);
  if (code !== null && !ENDED_CODES.includes(code)) {
    conditions.add("t.end_time IS NULL");
    return select(statements, "INDEXED BY task_runs_unfinished", conditions, query.cursor ?? null, limit);
  }
  const wanted = stretchFilters(statements, query, flows, code);
  if (wanted === null) return [];
  if (wanted.length === 0) return select(statements, "NOT INDEXED", conditions, query.cursor ?? null, limit);
  const rows: TaskRunRow[] = [];
  for (const [first, last] of stretchesOf(statements, wanted, query.cursor ?? null, true)) {
    const within = conditions.copy().add("t.id BETWEEN ? AND ?", first, last);
    rows.push(...select(statements, "NOT INDEXED", within, query.cursor ?? null, limit - rows.length));
    if (rows.length >= limit) break;
  }
  return rows;
}

/** What the coarse index knows of the filters: per filter the kind and the values wanted; null when nothing can match. */
function stretchFilters(statements: Statements, query: TaskRunsQuery, flows: readonly number[] | null, code: number | null) {
  const wanted: { kind: number; values: readonly number[] }[] = [];
  if (flows !== null) wanted.push({ kind: STRETCH_KIND.task_flow, values: flows });
  if (code !== null) wanted.push({ kind: STRETCH_KIND.task_state, values: [code] });
  if (query.state_name !== undefined && stateCodeOf(query.state_name) === null) {
    const row = statements.raw<[number]>("SELECT id FROM names WHERE name = ?").get(query.state_name);
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
): TaskRunRow[] {
  const all = conditions.copy();
  if (cursor !== null) all.add("t.id < ?", cursor);
  const base = SELECT_TASK_RUN.replace("FROM task_runs t JOIN", `FROM task_runs t ${index} CROSS JOIN`);
  return statements.raw<TaskRunRow>(`${base} WHERE ${all.sql} ORDER BY t.id DESC LIMIT ?`).all(...all.values, limit);
}

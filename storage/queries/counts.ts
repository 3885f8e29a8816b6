/**
 * GET /api/counts, from the counts that the writer maintains: never a scan of runs.
 *
 * SQLite only: ? IS NULL (the parameter cast to its type).
 */
import { STATE_TYPES } from "#protocol/records/state";
import { COUNT_KIND, ENDED_CODES } from "../schema/codes.ts";
import type { Statements } from "../sqlite/statements.ts";

type CountRow = [flow_id: number, kind: number, state_type: number, count: number];

/** Counts as JSON text; with a project, only runs of its flows. Task runs are always counted in total. */
export function counts(statements: Statements, project: string | null): string {
  const sql = `SELECT c.flow_id, c.kind, c.state_type, c.count FROM counts c
    WHERE ? IS NULL OR c.kind = ${COUNT_KIND.task_runs} OR c.flow_id IN (SELECT id FROM flows WHERE project = ?) ORDER BY c.flow_id, c.state_type`;
  const runs = new Array<number>(STATE_TYPES.length).fill(0);
  const flows = new Map<number, string[]>();
  const taskRuns = new Map<number, number>();
  for (const [flow, kind, state, count] of statements.raw<CountRow>(sql).all(project, project)) {
    if (kind === COUNT_KIND.task_runs) {
      taskRuns.set(state, (taskRuns.get(state) ?? 0) + count);
      continue;
    }
    runs[state] = (runs[state] ?? 0) + count;
    const own = flows.get(flow) ?? [];
    own.push(`"${STATE_TYPES[state]}":${count}`);
    flows.set(flow, own);
  }
  const active = runs.reduce((sum, count, state) => (ENDED_CODES.includes(state) ? sum : sum + count), 0);
  const byFlow = [...flows].map(([id, own]) => `"${id}":{${own.join(",")}}`);
  const byState = STATE_TYPES.map((type, state) => `"${type}":${runs[state]}`);
  const byTaskState = [...taskRuns].sort(([a], [b]) => a - b).map(([state, count]) => `"${STATE_TYPES[state]}":${count}`);
  return `{"runs":{${byState.join(",")}},"flows":{${byFlow.join(",")}},"task_runs":{${byTaskState.join(",")}},"active":${active}}`;
}

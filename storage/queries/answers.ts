/** GET /api/runs/{id}/input: the answers that a person gave to a run's pauses. */
import type { Statements } from "../statements.ts";

/** `{input: latest, inputs: all}` as JSON text; input is null when none was stored. */
export function answersOfRun(statements: Statements, run: number): string {
  const sql = "SELECT value FROM answers WHERE run_id = ? ORDER BY ordinal";
  const values = statements
    .raw<[string]>(sql)
    .all(run)
    .map(([value]) => value);
  return `{"input":${values.at(-1) ?? "null"},"inputs":[${values.join(",")}]}`;
}

/** GET /api/runs/{id}/input: the answers that a person gave to a run's pauses. */
import type { Statements } from "../statements.ts";

/**
 * `{input: latest}` as JSON text, null when none was stored. `inputs` has all answers in order; it is left out where `input`
 * says the same, because clients compare the record of a single answer as a whole.
 */
export function answersOfRun(statements: Statements, run: number): string {
  const sql = "SELECT value FROM answers WHERE run_id = ? ORDER BY ordinal";
  const values = statements
    .raw<[string]>(sql)
    .all(run)
    .map(([value]) => value);
  const latest = values.at(-1) ?? "null";
  const said = values.length === 0 || (values.length === 1 && latest !== "null");
  return said ? `{"input":${latest}}` : `{"input":${latest},"inputs":[${values.join(",")}]}`;
}

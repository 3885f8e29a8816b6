/**
 * Rows of a backfill's runs: one statement makes all of them from columns, at a third of the cost of one call per row.
 *
 * SQLite only: CAST of bytes (convert_from).
 */
import { stateCode } from "../schema/codes.ts";
import { NUMBERS } from "../schema/numbers.ts";
import type { Statements } from "../sqlite/statements.ts";
import type { RowOf } from "./ops.ts";

/** Adds a tag to runs with consecutive ids; bound values: number of runs, tag, first id. */
export const TAG_RUNS = `${NUMBERS} INSERT INTO run_tags (tag, run_id) SELECT ?, ? + i FROM numbers`;

/** The texts are passed as bytes: substr on a BLOB takes constant time, on text it reads from the start. */
const INSERT = `${NUMBERS}, valued (i, value) AS (SELECT i, CAST(substr(?, i * ? + 1, ?) AS TEXT) FROM numbers)
  INSERT INTO runs (state_type, state_timestamp, created_at, attempt, report_seq, crash_count, failure_count,
    marks, id, external_id, flow_id, backfill_id, priority, created_by, tags, name, parameters)
  SELECT ?, ?, ?, 0, 0, 0, 0, ?, ? + i, substr(?, i * 16 + 1, 16), ?, ?, ?, ?, ?, ? || replace(value, ':', ''), ? || value || ?
  FROM valued`;

export function insertBackfillRuns(statements: Statements, row: RowOf<"insert_backfill_runs">, marks: string): void {
  const values = Buffer.from(row.values, "latin1");
  const length = values.length / row.count;
  const state = [stateCode("Scheduled"), row.created_at, row.created_at];
  const origin = [row.flow_id, row.backfill_id, row.priority, row.created_by, row.tags];
  const texts = [row.name_head, row.parameters_head, row.parameters_tail];
  const bound = [row.count, values, length, length, ...state, marks, row.first_id, row.external_ids, ...origin, ...texts];
  statements.raw(INSERT).run(...bound);
}

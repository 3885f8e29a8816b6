/** Rows of many new runs: one prepared statement with the columns in which they differ, a third of those of any run. */
import { stateCode } from "../schema/codes.ts";
import type { Statements } from "../sqlite/statements.ts";
import type { NewRunRow, RowOf } from "./ops.ts";

const INSERT = `INSERT INTO runs (state_type, state_timestamp, created_at, attempt, report_seq, crash_count, failure_count,
    marks, id, external_id, flow_id, priority, name, created_by, tags, parameters)
  VALUES (?, ?, ?, 0, 0, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Inserts the rows with these marks, and returns them. */
export function insertNewRuns(statements: Statements, row: RowOf<"insert_new_runs">, marks: string): readonly NewRunRow[] {
  const { first_id, external_ids, created_at } = row;
  const rows = JSON.parse(row.rows) as NewRunRow[];
  const state = stateCode("Scheduled");
  const insert = statements.raw(INSERT);
  for (const [index, values] of rows.entries()) {
    const externalId = external_ids.subarray(index * 16, index * 16 + 16);
    insert.run(state, created_at, created_at, marks, first_id + index, externalId, ...values);
  }
  return rows;
}

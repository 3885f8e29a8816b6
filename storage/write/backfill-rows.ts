/** Rows of a backfill's runs: one statement makes all of them from columns, at a third of the cost of one call per row. */
import type { Primitive } from "#protocol/wire/feed";
import { stateCode } from "../schema/codes.ts";
import { NUMBERS } from "../schema/numbers.ts";
import type { Statements } from "../sqlite/statements.ts";
import { OPERATIONS } from "./ops.ts";

/** Adds a tag to runs with consecutive ids; bound values: number of runs, tag, first id. */
export const TAG_RUNS = `${NUMBERS} INSERT INTO run_tags (tag, run_id) SELECT ?, ? + i FROM numbers`;

/** The texts are passed as bytes: substr on a BLOB takes constant time, on text it reads from the start. */
const INSERT = `${NUMBERS}, valued (i, value) AS (SELECT i, CAST(substr(?, i * ? + 1, ?) AS TEXT) FROM numbers)
  INSERT INTO runs (state_type, state_timestamp, created_at, attempt, report_seq, crash_count, failure_count,
    id, external_id, flow_id, backfill_id, priority, created_by, tags, name, parameters)
  SELECT ?, ?, ?, 0, 0, 0, 0, ? + i, substr(?, i * 16 + 1, 16), ?, ?, ?, ?, ?, ? || replace(value, ':', ''), ? || value || ?
  FROM valued`;

interface BackfillRuns {
  firstId: number;
  count: number;
  createdAt: number;
  tags: string[];
  /** A value of the operation, by column. */
  column(name: (typeof OPERATIONS.insert_backfill_runs)[number]): Primitive;
}

/** Reads the operation whose values start at `at`. */
export function readBackfillRuns(ops: readonly Primitive[], at: number): BackfillRuns {
  const column: BackfillRuns["column"] = (name) => ops[at + OPERATIONS.insert_backfill_runs.indexOf(name)] ?? null;
  return {
    firstId: Number(column("first_id")),
    count: Number(column("count")),
    createdAt: Number(column("created_at")),
    tags: JSON.parse(String(column("tags"))) as string[],
    column,
  };
}

export function insertBackfillRuns(statements: Statements, { firstId, count, createdAt, column }: BackfillRuns): void {
  const values = Buffer.from(String(column("values")), "latin1");
  const length = values.length / count;
  const state = [stateCode("Scheduled"), createdAt, createdAt];
  const origin = [column("flow_id"), column("backfill_id"), column("priority"), column("created_by"), column("tags")];
  const texts = [column("name_head"), column("parameters_head"), column("parameters_tail")];
  statements.raw(INSERT).run(count, values, length, length, ...state, firstId, column("external_ids"), ...origin, ...texts);
}

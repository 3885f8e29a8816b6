/** Rows as records with the columns of an operation: external ids and states as text, empty JSON filled in. */
import { bytesToUuid } from "#protocol/values/uuid";
import { stateType } from "../schema/codes.ts";
import type { SqlValue } from "../sqlite/driver.ts";
import type { Statements } from "../sqlite/statements.ts";
import { OPERATIONS, type OperationName } from "../write/ops.ts";

const EMPTY: Readonly<Record<string, string>> = {
  tags: "[]",
  parents: "[]",
  parameters: "{}",
  parameter_schema: "{}",
  options: "{}",
  state_details: "{}",
  task_counts: "{}",
  extra_parameters: "{}",
};

/**
 * The records of a table; `rest` follows the table name in the query, `read` gives the expression that is read for a column.
 */
export function records<Row>(
  statements: Statements,
  operation: OperationName,
  table: string,
  rest: string,
  values: readonly SqlValue[] = [],
  read: (column: string) => string = (column) => column,
): Row[] {
  const columns: readonly string[] = OPERATIONS[operation];
  // Copies of one record are smaller than records built column by column, and take half the time.
  const blank: Record<string, SqlValue> = Object.fromEntries(columns.map((column) => [column, EMPTY[column] ?? null]));
  return statements
    .raw<SqlValue[]>(`SELECT ${columns.map(read).join(", ")} FROM ${table} ${rest}`)
    .all(...values)
    .map((row) => toRecord({ ...blank }, columns, row) as Row);
}

/** Fills a record from the row; NULLs become the column's empty value. */
function toRecord(
  record: Record<string, SqlValue>,
  columns: readonly string[],
  row: readonly SqlValue[],
): Record<string, SqlValue> {
  let index = 0;
  for (const column of columns) {
    const value = row[index++] ?? null;
    if (column === "external_id" && value instanceof Uint8Array) record[column] = bytesToUuid(value);
    else if (column === "state_type") record[column] = stateType(Number(value));
    else if (column === "state_name") record[column] = value ?? record["state_type"] ?? null;
    else if (value !== null) record[column] = value;
  }
  return record;
}

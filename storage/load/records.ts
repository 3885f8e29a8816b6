/** Rows as records with the columns of an operation: external ids and states as text, empty JSON filled in. */
import { bytesToUuid } from "#protocol/values/uuid";
import { stateType } from "../schema/codes.ts";
import type { SqlValue } from "../sqlite/driver.ts";
import type { Statements } from "../sqlite/statements.ts";
import type { ColumnKind, Columns } from "../write/columns.ts";
import { COLUMNS, OPERATIONS, type OperationName, type StoredRow } from "../write/ops.ts";

/** The value of a column that is NULL, by kind; null for the other kinds. */
const EMPTY: Readonly<Partial<Record<ColumnKind, string>>> = { json_list: "[]", json_object: "{}" };

/**
 * The records of a table; `rest` follows the table name in the query, `read` gives the expression that is read for a column.
 */
export function records<N extends OperationName>(
  statements: Statements,
  operation: N,
  table: string,
  rest: string,
  values: readonly SqlValue[] = [],
  read: (column: string) => string = (column) => column,
): StoredRow<N>[] {
  const columns: Columns = OPERATIONS[operation];
  const kinds = Object.entries(columns).map(([column, { kind }]) => ({ column, kind }));
  // Copies of one record are smaller than records built column by column, and take half the time.
  const blank: Record<string, SqlValue> = Object.fromEntries(kinds.map(({ column, kind }) => [column, EMPTY[kind] ?? null]));
  return statements
    .raw<SqlValue[]>(`SELECT ${COLUMNS[operation].map(read).join(", ")} FROM ${table} ${rest}`)
    .all(...values)
    .map((row) => toRecord({ ...blank }, kinds, row) as StoredRow<N>);
}

/** Fills a record from the row; NULLs become the column's empty value. */
function toRecord(
  record: Record<string, SqlValue>,
  columns: readonly { column: string; kind: ColumnKind }[],
  row: readonly SqlValue[],
): Record<string, SqlValue> {
  let index = 0;
  for (const { column, kind } of columns) {
    const value = row[index++] ?? null;
    if (kind === "uuid" && value instanceof Uint8Array) record[column] = bytesToUuid(value);
    else if (kind === "state_type") record[column] = stateType(Number(value));
    else if (kind === "state_name") record[column] = value ?? record["state_type"] ?? null;
    else if (value !== null) record[column] = value;
  }
  return record;
}

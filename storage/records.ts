/** Rows as records with the columns of an operation: external ids and states as text, empty JSON filled in. */
import { bytesToUuid } from "#protocol/uuid";
import { stateType } from "./codes.ts";
import type { SqlValue } from "./driver.ts";
import { OPERATIONS, type OperationName } from "./ops.ts";
import type { Statements } from "./statements.ts";

const EMPTY: Readonly<Record<string, string>> = {
  tags: "[]",
  parents: "[]",
  parameters: "{}",
  parameter_schema: "{}",
  options: "{}",
  state_details: "{}",
  extra_parameters: "{}",
};

/** The records of a table; `rest` is what follows its name in the query, `read` says what is read in place of a column. */
export function records<Row>(
  statements: Statements,
  operation: OperationName,
  table: string,
  rest: string,
  values: readonly SqlValue[] = [],
  read: (column: string) => string = (column) => column,
): Row[] {
  const columns: readonly string[] = OPERATIONS[operation];
  return statements
    .raw<SqlValue[]>(`SELECT ${columns.map(read).join(", ")} FROM ${table} ${rest}`)
    .all(...values)
    .map((row) => toRecord(columns, row) as Row);
}

function toRecord(columns: readonly string[], row: readonly SqlValue[]): Record<string, SqlValue> {
  const record: Record<string, SqlValue> = {};
  for (const [index, column] of columns.entries()) {
    const value = row[index] ?? null;
    if (column === "external_id" && value instanceof Uint8Array) record[column] = bytesToUuid(value);
    else if (column === "state_type") record[column] = stateType(Number(value));
    else if (column === "state_name") record[column] = value ?? record["state_type"] ?? null;
    else record[column] = value ?? EMPTY[column] ?? null;
  }
  return record;
}

/** Rows as records with the columns of an operation: external ids and states as text, empty JSON filled in. */
import { hexToUuid } from "#protocol/values/uuid";
import { stateType } from "../schema/codes.ts";
import type { SqlValue } from "../sqlite/driver.ts";
import type { Statements } from "../sqlite/statements.ts";
import type { ColumnKind, Columns } from "../write/columns.ts";
import { COLUMNS, OPERATIONS, type OperationName, type StoredRow } from "../write/ops.ts";

/** The value of a column that is NULL, by kind; null for the other kinds. */
const EMPTY: Readonly<Partial<Record<ColumnKind, string>>> = { json_list: "[]", json_object: "{}" };

/** What a value becomes that was read, where that is not the value itself. */
const READ: Readonly<Partial<Record<ColumnKind, (value: SqlValue) => SqlValue>>> = {
  uuid: (value) => hexToUuid(String(value)),
  state_type: (value) => stateType(Number(value)),
};

/**
 * The records of a table, one after the other; `rest` follows the table name in the query, `read` gives the expression that is
 * read for a column. NULLs become the column's empty value; a state name that is NULL becomes the state type.
 */
export function* eachRecord<N extends OperationName>(
  statements: Statements,
  operation: N,
  table: string,
  rest: string,
  values: readonly SqlValue[] = [],
  read: (column: string) => string = (column) => column,
): Generator<StoredRow<N>> {
  const columns: Columns = OPERATIONS[operation];
  const names = COLUMNS[operation];
  const readers = Object.values(columns).map(({ kind }) => READ[kind] ?? null);
  // Copies of one record are smaller than records built column by column, and take half the time.
  const blank: Record<string, SqlValue> = Object.fromEntries(
    Object.entries(columns).map(([column, { kind }]) => [column, EMPTY[kind] ?? null]),
  );
  const stateName = Object.entries(columns).find(([, { kind }]) => kind === "state_name")?.[0] ?? null;
  // Digits, because the driver makes a buffer of each value of bytes, which costs more than the rest of a row.
  const expression = (column: string): string => (columns[column]?.kind === "uuid" ? `hex(${column})` : read(column));
  const rows = statements.raw<SqlValue[]>(`SELECT ${names.map(expression).join(", ")} FROM ${table} ${rest}`);
  for (const row of rows.iterate(...values)) {
    const record = { ...blank };
    for (let index = 0; index < names.length; index += 1) {
      const value = row[index] ?? null;
      if (value === null) continue;
      const reader = readers[index] ?? null;
      record[names[index] ?? ""] = reader === null ? value : reader(value);
    }
    if (stateName !== null) record[stateName] ??= record["state_type"] ?? null;
    yield record as StoredRow<N>;
  }
}

export function records<N extends OperationName>(
  statements: Statements,
  operation: N,
  table: string,
  rest: string,
  values: readonly SqlValue[] = [],
): StoredRow<N>[] {
  return [...eachRecord(statements, operation, table, rest, values)];
}

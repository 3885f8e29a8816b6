/** Rows as records with the columns of an operation: external ids and states as text, empty JSON filled in. */
import { hexToUuid } from "#protocol/values/uuid";
import { stateType } from "../schema/codes.ts";
import type { SqlValue, Statement } from "../sqlite/driver.ts";
import type { Statements } from "../sqlite/statements.ts";
import type { ColumnKind, Columns } from "../write/columns.ts";
import { COLUMNS, OPERATIONS, type OperationName, type StoredRow } from "../write/ops.ts";

type Row = Record<string, SqlValue>;

/** What a value becomes that was read, by kind of column, where that is not always the value itself. */
const READ: Readonly<Partial<Record<ColumnKind, (value: SqlValue) => SqlValue>>> = {
  uuid: (value) => (value === null ? null : hexToUuid(String(value))),
  hex: (value) => (value === null ? null : String(value).toLowerCase()),
  state_type: (value) => (value === null ? null : stateType(Number(value))),
  json_list: (value) => value ?? "[]",
  json_object: (value) => value ?? "{}",
};

/** The records of a table; `rest` follows the table name in the query. */
export function records<N extends OperationName>(
  statements: Statements,
  operation: N,
  table: string,
  rest: string,
  values: readonly SqlValue[] = [],
): StoredRow<N>[] {
  const rows = query(statements, operation, table, rest).all(...values);
  const finish = finisher(operation);
  for (const row of rows) finish(row);
  return rows as StoredRow<N>[];
}

/** Like `records`, one after the other, so that the rows take no memory beside what is built from them. */
export function* eachRecord<N extends OperationName>(
  statements: Statements,
  operation: N,
  table: string,
  rest: string,
): Generator<StoredRow<N>> {
  const finish = finisher(operation);
  for (const row of query(statements, operation, table, rest).iterate()) {
    finish(row);
    yield row as StoredRow<N>;
  }
}

function query(statements: Statements, operation: OperationName, table: string, rest: string): Statement<Row> {
  const columns: Columns = OPERATIONS[operation];
  // Digits, because the driver makes a buffer of each value of bytes, which costs more than the rest of a row.
  const expression = (column: string): string => {
    const kind = columns[column]?.kind;
    if (kind === "hex") return `nullif(hex(${column}), '') AS ${column}`;
    return kind === "uuid" ? `hex(${column}) AS ${column}` : column;
  };
  return statements.named<Row>(`SELECT ${COLUMNS[operation].map(expression).join(", ")} FROM ${table} ${rest}`);
}

/** Makes a record of a row that has some or all columns of an operation, in place: external ids are read as digits. */
export function finisher(operation: OperationName, columns: readonly string[] = COLUMNS[operation]): (row: Row) => void {
  const kinds: Columns = OPERATIONS[operation];
  const readers = columns.flatMap((column) => {
    const reader = READ[kinds[column]?.kind ?? "integer"];
    return reader === undefined ? [] : [{ column, reader }];
  });
  const stateName = columns.find((column) => kinds[column]?.kind === "state_name");
  return (row) => {
    for (const { column, reader } of readers) row[column] = reader(row[column] ?? null);
    // NULL: the name equals the type.
    if (stateName !== undefined) row[stateName] ??= row["state_type"] ?? null;
  };
}

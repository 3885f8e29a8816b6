/** Values and columns of values in PostgreSQL's binary form, so that no value becomes text and none is parsed. */
import type { Primitive } from "#protocol/wire/feed";
import type { ColumnKind } from "../write/columns.ts";
import type { MessageBuffer } from "./message-buffer.ts";

export type PostgresType = "int2" | "int8" | "float8" | "text" | "bytea";

const OID: Readonly<Record<PostgresType, number>> = { int2: 21, int8: 20, float8: 701, text: 25, bytea: 17 };
const NULL_LENGTH = -1;

/** The type that stores this kind of column. */
export function postgresType(kind: ColumnKind): PostgresType {
  switch (kind) {
    case "integer":
      return "int8";
    case "bit":
    case "state_type":
      return "int2";
    case "real":
      return "float8";
    case "bytes":
    case "uuid":
    case "hex":
      return "bytea";
    default:
      return "text";
  }
}

/** One value with its length before it. */
export function putValue(buffer: MessageBuffer, type: PostgresType, value: Primitive): void {
  if (value === null) return buffer.int32(NULL_LENGTH);
  switch (type) {
    case "int2":
      buffer.int32(2);
      return buffer.int16(Number(value));
    case "int8":
      buffer.int32(8);
      return buffer.int64(Number(value));
    case "float8":
      buffer.int32(8);
      return buffer.float64(Number(value));
    default:
      return putBytes(buffer, value as string | Uint8Array);
  }
}

function putBytes(buffer: MessageBuffer, value: string | Uint8Array): void {
  if (typeof value !== "string") {
    buffer.int32(value.byteLength);
    return buffer.bytes(value);
  }
  const length = openLength(buffer);
  // PostgreSQL's texts have no NUL: the gateway refuses it from clients, and what engines report is kept in this form.
  buffer.text(value.includes("\0") ? value.replaceAll("\0", "\uFFFD") : value);
  closeLength(buffer, length);
}

/** One column of these rows as an array with its length before it; NULL instead of an array of nothing but NULLs. */
export function putColumn(
  buffer: MessageBuffer,
  type: PostgresType,
  rows: readonly (readonly Primitive[])[],
  column: number,
): void {
  let nulls = 0;
  for (const row of rows) if ((row[column] ?? null) === null) nulls += 1;
  if (nulls === rows.length) return buffer.int32(NULL_LENGTH);
  const length = openLength(buffer);
  // Dimensions, whether there are NULLs, type, length, first index.
  buffer.int32(1);
  buffer.int32(nulls > 0 ? 1 : 0);
  buffer.int32(OID[type]);
  buffer.int32(rows.length);
  buffer.int32(1);
  for (const row of rows) putValue(buffer, type, row[column] ?? null);
  closeLength(buffer, length);
}

function openLength(buffer: MessageBuffer): number {
  buffer.int32(0);
  return buffer.end;
}

function closeLength(buffer: MessageBuffer, from: number): void {
  buffer.setInt32(buffer.end - from, from - 4);
}

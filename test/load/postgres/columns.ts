/**
 * Columns of values as PostgreSQL's binary arrays, which `unnest` turns into rows: no value becomes text and none is parsed.
 */
import type { Primitive } from "#protocol/wire/feed";
import type { ColumnKind } from "#storage/write/columns";

export type PostgresType = "int2" | "int8" | "float8" | "text" | "bytea";

const OID: Readonly<Record<PostgresType, number>> = { int2: 21, int8: 20, float8: 701, text: 25, bytea: 17 };
const FIXED_BYTES: Readonly<Partial<Record<PostgresType, number>>> = { int2: 2, int8: 8, float8: 8 };

/** Dimensions, whether values are NULL, type, length and first index: four bytes each. */
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;
const HIGH = 2 ** 32;

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

/** The values of one column of these rows as an array of that type. The rows are encoded as for SQLite. */
export function columnArray(type: PostgresType, rows: readonly (readonly Primitive[])[], column: number): Buffer {
  const array = Buffer.allocUnsafe(bytesOf(type, rows, column));
  let at = HEADER_BYTES;
  let nulls = 0;
  for (const row of rows) {
    const value = row[column] ?? null;
    if (value === null) {
      nulls = 1;
      array.writeInt32BE(NULL_LENGTH, at);
      at += LENGTH_BYTES;
    } else {
      const length = putValue(array, type, value, at + LENGTH_BYTES);
      array.writeInt32BE(length, at);
      at += LENGTH_BYTES + length;
    }
  }
  for (const [index, field] of [1, nulls, OID[type], rows.length, 1].entries()) array.writeInt32BE(field, index * LENGTH_BYTES);
  return array;
}

function bytesOf(type: PostgresType, rows: readonly (readonly Primitive[])[], column: number): number {
  const fixed = FIXED_BYTES[type];
  let bytes = HEADER_BYTES + rows.length * LENGTH_BYTES;
  for (const row of rows) {
    const value = row[column] ?? null;
    if (value === null) continue;
    bytes += fixed ?? (typeof value === "string" ? Buffer.byteLength(value) : (value as Uint8Array).byteLength);
  }
  return bytes;
}

/** Writes one value; returns its length. */
function putValue(array: Buffer, type: PostgresType, value: NonNullable<Primitive>, at: number): number {
  switch (type) {
    case "int2":
      array.writeInt16BE(Number(value), at);
      return 2;
    case "int8":
      array.writeInt32BE(Math.floor(Number(value) / HIGH), at);
      array.writeUInt32BE(Number(value) >>> 0, at + 4);
      return 8;
    case "float8":
      array.writeDoubleBE(Number(value), at);
      return 8;
    default:
      if (typeof value === "string") return array.write(value, at);
      array.set(value as Uint8Array, at);
      return (value as Uint8Array).byteLength;
  }
}

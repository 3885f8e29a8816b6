/**
 * Kinds of columns of row operations. The kind of a column determines the type of its values in an operation (RowOf in
 * ops.ts), how the writer stores them (row-operations.ts) and how they are loaded (load/records.ts).
 */
import type { StateType } from "#protocol/records/state";
import type { Primitive } from "#protocol/wire/feed";

export type ColumnKind =
  | "integer"
  | "real"
  | "text"
  /** 0 or 1. */
  | "bit"
  | "bytes"
  /** UUID text, stored as 16 bytes. */
  | "uuid"
  /** Hexadecimal digits, stored as half as many bytes. */
  | "hex"
  /** JSON text, stored as it is. */
  | "json"
  /** JSON text of an object or list; NULL stands for an empty one. */
  | "json_object"
  | "json_list"
  /** Stored as a code (schema/codes.ts). */
  | "state_type"
  /** The name of the state in the column `state_type`; stored as NULL when it equals the type. */
  | "state_name";

/** A column with values of type `Value` in operations and of type `Loaded` when read from the store. */
export interface Column<Value extends Primitive = Primitive, Loaded extends Primitive = Value> {
  readonly kind: ColumnKind;
  readonly nullable: boolean;
  /** Never set; carries the types. */
  readonly types?: readonly [value: Value, loaded: Loaded];
}

export type Columns = Readonly<Record<string, Column>>;

/** The values of an operation by column. */
export type ValuesOf<C extends Columns> = {
  readonly [K in keyof C]: C[K] extends Column<infer Value, Primitive> ? Value : never;
};

/** A stored row by column. */
export type LoadedOf<C extends Columns> = {
  -readonly [K in keyof C]: C[K] extends Column<Primitive, infer Loaded> ? Loaded : never;
};

export const integer: Column<number> = { kind: "integer", nullable: false };
export const real: Column<number> = { kind: "real", nullable: false };
export const text: Column<string> = { kind: "text", nullable: false };
export const bit: Column<0 | 1> = { kind: "bit", nullable: false };
export const bytes: Column<Uint8Array> = { kind: "bytes", nullable: false };
export const uuid: Column<string> = { kind: "uuid", nullable: false };
export const hex: Column<string> = { kind: "hex", nullable: false };
export const json: Column<string> = { kind: "json", nullable: false };
export const jsonObject: Column<string | null, string> = { kind: "json_object", nullable: true };
export const jsonList: Column<string | null, string> = { kind: "json_list", nullable: true };
export const stateTypeText: Column<StateType> = { kind: "state_type", nullable: false };
export const stateNameText: Column<string> = { kind: "state_name", nullable: false };

/** Text with a few values. */
export function oneOf<Value extends string>(): Column<Value> {
  return { kind: "text", nullable: false };
}

export function nullable<Value extends Primitive>({ kind }: Column<Value>): Column<Value | null> {
  return { kind, nullable: true };
}

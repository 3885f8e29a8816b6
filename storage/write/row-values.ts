/** Reads row operations: the values of a flat array by the name of their column. */
import type { Primitive } from "#protocol/wire/feed";
import { COLUMNS, type OperationName, type RowOf } from "./ops.ts";

declare const VALUE: unique symbol;

/** The position of a column among the values of its operation, with the type of these values. */
export type Position<Value extends Primitive> = number & { readonly [VALUE]?: Value };

export type PositionsOf<N extends OperationName> = { readonly [C in keyof RowOf<N>]: Position<RowOf<N>[C] & Primitive> };

export function positionsOf<N extends OperationName>(name: N): PositionsOf<N> {
  return Object.fromEntries(COLUMNS[name].map((column, index) => [column, index])) as PositionsOf<N>;
}

/** One value of the operation whose values start at `at`. The operation is complete: the writer checks that first. */
export function valueAt<Value extends Primitive>(ops: readonly Primitive[], at: number, position: Position<Value>): Value {
  return ops[at + position] as Value;
}

/** All values of the operation whose values start at `at`. */
export function rowAt<N extends OperationName>(name: N, ops: readonly Primitive[], at: number): RowOf<N> {
  return Object.fromEntries(COLUMNS[name].map((column, index) => [column, ops[at + index]])) as RowOf<N>;
}

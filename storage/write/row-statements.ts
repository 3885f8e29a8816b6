/**
 * Runs row operations as prepared statements.
 *
 * Binding a NULL costs the driver about twice as much as binding a number, and a third of all values is NULL. So NULLs are part
 * of the text: an operation has one statement for each set of columns that are NULL.
 */
import type { Primitive } from "#protocol/wire/feed";
import type { Database, Statement } from "../sqlite/driver.ts";
import { encoded, type RowOperation } from "./row-operations.ts";

/** Statements per operation; a row with a further set of NULL columns binds its NULLs. */
const SETS_MAX = 32;

/** A set of columns is the bits of a small integer; columns behind these always bind their NULLs. */
const COLUMNS_MAX = 30;

export class RowStatements {
  readonly #database: Database;
  readonly #prepared = new Map<RowOperation, Map<number, Statement<unknown>>>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Runs the operation whose values start at `at`. Returns the number of rows changed. */
  run(operation: RowOperation, values: readonly Primitive[], at: number): number {
    const { encoders } = operation;
    const bound: Primitive[] = new Array(encoders.length);
    let nulls = 0;
    for (let index = 0; index < encoders.length; index++) {
      const value = encoded(encoders[index], values, at);
      bound[index] = value;
      if (value === null && index < COLUMNS_MAX) nulls |= 1 << index;
    }
    const statement = this.#statement(operation, nulls);
    if (statement !== null) return statement.run(...withoutNulls(bound, nulls)).changes;
    return (this.#statement(operation, 0) as Statement<unknown>).run(...bound).changes;
  }

  /** The statement for this set of NULL columns; null when the operation has as many statements as it may have. */
  #statement(operation: RowOperation, nulls: number): Statement<unknown> | null {
    let prepared = this.#prepared.get(operation);
    if (prepared === undefined) {
      prepared = new Map();
      this.#prepared.set(operation, prepared);
    }
    const known = prepared.get(nulls);
    if (known !== undefined) return known;
    // Room is kept for the statement that binds all values.
    if (nulls !== 0 && prepared.size >= SETS_MAX) return null;
    const statement = this.#database.prepareRaw(withNulls(operation.sql, nulls));
    prepared.set(nulls, statement);
    return statement;
  }
}

/** The text with NULL for the parameters of these columns. */
export function withNulls(sql: string, nulls: number): string {
  let index = 0;
  return sql.replaceAll("?", () => (isIn(nulls, index++) ? "NULL" : "?"));
}

/** The values whose columns are not in the set. */
function withoutNulls(bound: Primitive[], nulls: number): Primitive[] {
  return nulls === 0 ? bound : bound.filter((_value, index) => !isIn(nulls, index));
}

function isIn(nulls: number, index: number): boolean {
  return index < COLUMNS_MAX && (nulls & (1 << index)) !== 0;
}

/** Prepared statements of one connection, by their text: each text is compiled once. */
import type { Database, SqlValue, Statement } from "./driver.ts";

/** Bounded, because list queries build their text from their filters. */
const STATEMENTS_MAX = 256;

type RawRow = SqlValue[];

export class Statements {
  readonly database: Database;
  readonly #raw = new Map<string, Statement<unknown>>();

  constructor(database: Database) {
    this.database = database;
  }

  /** Rows are arrays in column order; `Row` is their type. */
  raw<Row = RawRow>(sql: string): Statement<Row> {
    const known = this.#raw.get(sql);
    if (known !== undefined) return known as Statement<Row>;
    if (this.#raw.size >= STATEMENTS_MAX) {
      const oldest = this.#raw.keys().next().value;
      if (oldest !== undefined) this.#raw.delete(oldest);
    }
    const statement = this.database.prepareRaw<Row>(sql);
    this.#raw.set(sql, statement);
    return statement;
  }
}

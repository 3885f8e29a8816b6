/** Prepared statements of one connection, by their text: each text is compiled once. */
import type { Database, SqlValue, Statement } from "./driver.ts";

/** Bounded, because list queries build their text from their filters. */
const STATEMENTS_MAX = 256;

type RawRow = SqlValue[];

export class Statements {
  readonly database: Database;
  readonly #raw = new Map<string, Statement<unknown>>();
  readonly #named = new Map<string, Statement<unknown>>();

  constructor(database: Database) {
    this.database = database;
  }

  /** Rows are arrays in column order; `Row` is their type. */
  raw<Row = RawRow>(sql: string): Statement<Row> {
    return prepared(this.#raw, sql, () => this.database.prepareRaw<Row>(sql));
  }

  /** Rows are objects by column name, all of one shape. */
  named<Row>(sql: string): Statement<Row> {
    return prepared(this.#named, sql, () => this.database.prepare<Row>(sql));
  }
}

function prepared<Row>(known: Map<string, Statement<unknown>>, sql: string, prepare: () => Statement<Row>): Statement<Row> {
  const same = known.get(sql);
  if (same !== undefined) return same as Statement<Row>;
  if (known.size >= STATEMENTS_MAX) {
    const oldest = known.keys().next().value;
    if (oldest !== undefined) known.delete(oldest);
  }
  const statement = prepare();
  known.set(sql, statement);
  return statement;
}

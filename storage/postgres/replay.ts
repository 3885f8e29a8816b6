/**
 * Queries on PostgreSQL that do not block their thread.
 *
 * The functions of queries read synchronously, as SQLite is read. Here, a function that comes to a statement is left by an
 * exception, the rows of the statement are awaited, and the function is called again from its start: a statement that it has read
 * before has the same rows again. The results of queries depend on their arguments and on rows only, so each call comes further.
 *
 * That pays for few statements with few rows. A query that reads more is `EXCEEDED`: a reader thread has to make its answer.
 */
import { isDeepStrictEqual } from "node:util";
import { Statements } from "../sqlite/statements.ts";
import { StorageError } from "../sqlite/storage-error.ts";
import { toReadError } from "./errors.ts";
import { handleOf, type RowSource } from "./read-handle.ts";
import type { ReadSession } from "./read-session.ts";
import { decodeRows } from "./rows.ts";
import type { ResultColumn } from "./server-messages.ts";
import type { Table } from "./table.ts";

/** The result of a query that reads too much. */
export const EXCEEDED = Symbol("a query that reads too much");

/** Statements of a query. Most have one or two. */
const STATEMENTS_MAX = 12;

/** Statements whose columns are kept; those of further texts are sent at each call. */
const DESCRIBED_MAX = 1_024;

const ALL_ROWS = 0;
/** Names no portal: rows beyond the first portion are not read. */
const MORE_ROWS = "more rows";

interface Statement {
  text: string;
  values: readonly unknown[];
  rowsMax: number;
}

/** A call of a function that is left at a statement whose rows are not there. */
const LEFT = new Error("the rows of a statement are not there yet");
/** A call of a function that reads more statements, or more rows of a statement, or needs a transaction. */
const TOO_MUCH = new Error("the query reads too much");

/** One query: its statements so far, with their rows. */
class Recording {
  readonly #read: { statement: Statement; table: Table }[] = [];
  /** The statement at which the last call was left. */
  asked: Statement | null = null;

  rows(statement: Statement): Table {
    const known = this.#read.find((each) => isSame(each.statement, statement));
    if (known !== undefined) return known.table;
    if (this.#read.length === STATEMENTS_MAX) throw TOO_MUCH;
    this.asked = statement;
    throw LEFT;
  }

  add(statement: Statement, table: Table): void {
    this.#read.push({ statement, table });
  }
}

function isSame(a: Statement, b: Statement): boolean {
  return a.text === b.text && a.rowsMax === b.rowsMax && isDeepStrictEqual(a.values, b.values);
}

export class Replay {
  readonly #statements = new Statements(handleOf(this.#rowSource()));
  /** Columns by the text of the statement, which the server sends once. */
  readonly #columns = new Map<string, ResultColumn[]>();
  #recording: Recording | null = null;

  /** @throws StorageError for a statement that fails, and what the query throws */
  async answer<Result>(session: ReadSession, query: (statements: Statements) => Result): Promise<Result | typeof EXCEEDED> {
    const recording = new Recording();
    for (;;) {
      try {
        return this.#call(recording, query);
      } catch (cause) {
        if (cause === TOO_MUCH) return EXCEEDED;
        if (cause !== LEFT || recording.asked === null) throw cause;
      }
      recording.add(recording.asked, await this.#read(session, recording.asked));
    }
  }

  #call<Result>(recording: Recording, query: (statements: Statements) => Result): Result {
    this.#recording = recording;
    try {
      return query(this.#statements);
    } finally {
      this.#recording = null;
    }
  }

  async #read(session: ReadSession, { text, values, rowsMax }: Statement): Promise<Table> {
    const known = this.#columns.get(text);
    try {
      const portion = await session.all({ text, values, rowsMax, described: known === undefined });
      const columns = known ?? portion.columns ?? [];
      if (known === undefined && this.#columns.size < DESCRIBED_MAX) this.#columns.set(text, columns);
      return { columns: columns.map(({ name }) => name), rows: decodeRows(portion.bytes, columns) };
    } catch (cause) {
      throw toReadError(cause);
    }
  }

  #rowSource(): RowSource {
    const rows = (text: string, values: readonly unknown[], rowsMax: number): Table => {
      if (this.#recording === null) throw new StorageError("reader", "a statement outside its query");
      return this.#recording.rows({ text, values, rowsMax });
    };
    return {
      all: (text, values, rowsMax = ALL_ROWS) => rows(text, values, rowsMax),
      open: (text, values, rowsMax) => {
        const table = rows(text, values, rowsMax);
        return { table, portal: table.rows.length < rowsMax ? null : MORE_ROWS };
      },
      next: () => {
        throw TOO_MUCH;
      },
      closePortal: () => {},
      // Of a transaction: no connection belongs to the query.
      exec: () => {
        throw TOO_MUCH;
      },
      close: () => {},
    };
  }
}

/**
 * A handle that reads from PostgreSQL like one of SQLite: statements block the calling thread. A thread of its own has the
 * connection (blocking-reader.ts).
 */
import type { Database, SqlValue, Statement } from "../sqlite/driver.ts";
import { StorageError } from "../sqlite/storage-error.ts";
import { BlockingReader, type ReadLimits, startReaderThread } from "./blocking-reader.ts";
import { toPostgres } from "./dialect.ts";
import type { Table } from "./table.ts";

/** Rows that an iteration reads at a time. */
const PORTION_ROWS = 200;

/** A scan of all events takes seconds. */
const LIMIT_MS = 10_000;

type MakeRow<Row> = (values: unknown[], columns: readonly string[]) => Row;

/** Opens the database for reading, with the limits of lists where none are given. */
export function openPostgresReadHandle(url: string, limits: Partial<ReadLimits> = {}): Database {
  const thread = startReaderThread();
  const reader = new BlockingReader(thread.connect({ connectionString: url }, { limitMs: LIMIT_MS, patienceMs: 0, ...limits }));
  let open = true;
  const asArray: MakeRow<unknown[]> = (values) => values;
  const asObject: MakeRow<unknown> = (values, columns) =>
    Object.fromEntries(columns.map((column, index) => [column, values[index]]));
  return {
    kind: "postgres",
    prepare: <Row>(sql: string) => new ReadStatement(reader, toPostgres(sql), asObject as MakeRow<Row>),
    prepareRaw: <Row>(sql: string) => new ReadStatement(reader, toPostgres(sql), asArray as MakeRow<unknown> as MakeRow<Row>),
    exec: (sql) => reader.exec(sql),
    pragma: () => unsupported("a pragma"),
    backup: () => unsupported("a copy of the file"),
    inTransaction: false,
    get open() {
      return open;
    },
    close: () => {
      open = false;
      reader.close();
      void thread.stop();
    },
  };
}

class ReadStatement<Row> implements Statement<Row> {
  readonly #reader: BlockingReader;
  readonly #text: string;
  readonly #makeRow: MakeRow<Row>;

  constructor(reader: BlockingReader, text: string, makeRow: MakeRow<Row>) {
    this.#reader = reader;
    this.#text = text;
    this.#makeRow = makeRow;
  }

  run(): never {
    return unsupported("a change");
  }

  get(...values: SqlValue[]): Row | undefined {
    return this.#rowsOf(this.#reader.all(this.#text, values, 1))[0];
  }

  all(...values: SqlValue[]): Row[] {
    return this.#rowsOf(this.#reader.all(this.#text, values));
  }

  *iterate(...values: SqlValue[]): IterableIterator<Row> {
    let { table, portal } = this.#reader.open(this.#text, values, PORTION_ROWS);
    try {
      for (;;) {
        yield* this.#rowsOf(table);
        const open = portal;
        if (open === null) return;
        // Closed by its last portion.
        portal = null;
        ({ table, portal } = this.#reader.next(open, PORTION_ROWS));
      }
    } finally {
      const left = portal;
      if (left !== null) this.#reader.closePortal(left);
    }
  }

  #rowsOf({ columns, rows }: Table): Row[] {
    return rows.map((values) => this.#makeRow(values, columns));
  }
}

function unsupported(what: string): never {
  throw new StorageError("operation", `PostgreSQL is read through this handle: ${what} is not possible`);
}

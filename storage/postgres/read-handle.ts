/**
 * Handles that read from PostgreSQL like those of SQLite. Of the one that is opened here, statements block the calling thread; a
 * thread of its own has the connection (blocking-reader.ts).
 */
import type { Database, SqlValue, Statement } from "../sqlite/driver.ts";
import { StorageError } from "../sqlite/storage-error.ts";
import { BlockingReader, type ReadLimits, startReaderThread, type TablePortion } from "./blocking-reader.ts";
import { toPostgres } from "./dialect.ts";
import type { Table } from "./table.ts";

/** Rows that an iteration reads at a time. */
const PORTION_ROWS = 200;

/** A scan of all events takes seconds. */
const LIMIT_MS = 10_000;

type MakeRow<Row> = (values: unknown[], columns: readonly string[]) => Row;

/** Where the rows of a handle come from: those of a statement, whole or in portions. */
export interface RowSource {
  /** All rows, or the first ones. */
  all(text: string, values: readonly unknown[], rowsMax?: number): Table;
  /** The first rows, and the portal that has more of them. */
  open(text: string, values: readonly unknown[], rowsMax: number): TablePortion;
  next(portal: string, rowsMax: number): TablePortion;
  closePortal(portal: string): void;
  /** Runs BEGIN, COMMIT or ROLLBACK. */
  exec(text: string): void;
  close(): void;
}

/** Opens the database for reading, with the limits of lists where none are given. */
export function openPostgresReadHandle(url: string, limits: Partial<ReadLimits> = {}): Database {
  const thread = startReaderThread();
  const reader = new BlockingReader(thread.connect({ connectionString: url }, { limitMs: LIMIT_MS, patienceMs: 0, ...limits }));
  return handleOf({
    all: (...read) => reader.all(...read),
    open: (...read) => reader.open(...read),
    next: (...read) => reader.next(...read),
    closePortal: (portal) => reader.closePortal(portal),
    exec: (text) => reader.exec(text),
    close: () => {
      reader.close();
      void thread.stop();
    },
  });
}

/** A handle over these rows. */
export function handleOf(source: RowSource): Database {
  let open = true;
  const asArray: MakeRow<unknown[]> = (values) => values;
  const asObject: MakeRow<unknown> = (values, columns) =>
    Object.fromEntries(columns.map((column, index) => [column, values[index]]));
  return {
    kind: "postgres",
    prepare: <Row>(sql: string) => new ReadStatement(source, toPostgres(sql), asObject as MakeRow<Row>),
    prepareRaw: <Row>(sql: string) => new ReadStatement(source, toPostgres(sql), asArray as MakeRow<unknown> as MakeRow<Row>),
    exec: (sql) => source.exec(sql),
    pragma: () => unsupported("a pragma"),
    backup: () => unsupported("a copy of the file"),
    inTransaction: false,
    get open() {
      return open;
    },
    close: () => {
      open = false;
      source.close();
    },
  };
}

class ReadStatement<Row> implements Statement<Row> {
  readonly #source: RowSource;
  readonly #text: string;
  readonly #makeRow: MakeRow<Row>;

  constructor(source: RowSource, text: string, makeRow: MakeRow<Row>) {
    this.#source = source;
    this.#text = text;
    this.#makeRow = makeRow;
  }

  run(): never {
    return unsupported("a change");
  }

  get(...values: SqlValue[]): Row | undefined {
    return this.#rowsOf(this.#source.all(this.#text, values, 1))[0];
  }

  all(...values: SqlValue[]): Row[] {
    return this.#rowsOf(this.#source.all(this.#text, values));
  }

  *iterate(...values: SqlValue[]): IterableIterator<Row> {
    let { table, portal } = this.#source.open(this.#text, values, PORTION_ROWS);
    try {
      for (;;) {
        yield* this.#rowsOf(table);
        const open = portal;
        if (open === null) return;
        // Closed by its last portion.
        portal = null;
        ({ table, portal } = this.#source.next(open, PORTION_ROWS));
      }
    } finally {
      const left = portal;
      if (left !== null) this.#source.closePortal(left);
    }
  }

  #rowsOf({ columns, rows }: Table): Row[] {
    return rows.map((values) => this.#makeRow(values, columns));
  }
}

function unsupported(what: string): never {
  throw new StorageError("operation", `PostgreSQL is read through this handle: ${what} is not possible`);
}

/**
 * The SQLite driver behind one small interface; the only file that imports it.
 * Another driver is used by giving `openDriver` another body.
 */
import BetterSqlite3 from "better-sqlite3";

export type SqlValue = number | bigint | string | Uint8Array | null;

export interface Statement<Row> {
  run(...values: SqlValue[]): { changes: number };
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
  /** Row by row; none is read before it is asked for. Leaving the loop ends the statement. */
  iterate(...values: SqlValue[]): IterableIterator<Row>;
}

export interface Database {
  /** Rows as objects by column name. */
  prepare<Row>(sql: string): Statement<Row>;
  /** Rows as arrays in column order: half the cost of objects for wide rows. */
  prepareRaw<Row>(sql: string): Statement<Row>;
  exec(sql: string): void;
  /** The first column of the first row of a pragma. */
  pragma(text: string): unknown;
  /** Consistent copy to another file while others write. It blocks this thread until it is complete. */
  backup(path: string): Promise<void>;
  readonly inTransaction: boolean;
  readonly open: boolean;
  close(): void;
}

/** More pages than any database has. */
const ALL_PAGES = 0x7fffffff;

export interface DriverOptions {
  readonly: boolean;
  /** How long a statement waits for a lock of another connection. */
  busyWaitMs: number;
}

export function openDriver(path: string, options: DriverOptions): Database {
  const handle = new BetterSqlite3(path, {
    readonly: options.readonly,
    fileMustExist: options.readonly,
    timeout: options.busyWaitMs,
  });
  return {
    prepare: <Row>(sql: string) => handle.prepare<SqlValue[], Row>(sql),
    prepareRaw: <Row>(sql: string) => {
      const statement = handle.prepare<SqlValue[], Row>(sql);
      return statement.reader ? statement.raw(true) : statement;
    },
    exec: (sql) => void handle.exec(sql),
    pragma: (text) => handle.pragma(text, { simple: true }),
    // In one step: between two steps another process may write, and SQLite would begin anew.
    backup: async (target) => void (await handle.backup(target, { progress: () => ALL_PAGES })),
    get inTransaction() {
      return handle.inTransaction;
    },
    get open() {
      return handle.open;
    },
    close: () => void handle.close(),
  };
}

/** The driver's error code (SQLITE_...) of a failure, or null for an error of another kind. */
export function driverErrorCode(error: unknown): string | null {
  return error instanceof BetterSqlite3.SqliteError ? error.code : null;
}

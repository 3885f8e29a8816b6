/**
 * The SQLite driver behind a small interface; the only file that imports the driver. Another driver needs only another body
 * of `openDriver`.
 */
import BetterSqlite3 from "better-sqlite3";

export type SqlValue = number | bigint | string | Uint8Array | null;

export interface Statement<Row> {
  run(...values: SqlValue[]): { changes: number };
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
  /** Reads a row only when it is requested. Leaving the loop ends the statement. */
  iterate(...values: SqlValue[]): IterableIterator<Row>;
}

/** Which SQL a database understands, where one text for both is not possible. */
export type DatabaseKind = "sqlite" | "postgres";

export interface Database {
  readonly kind: DatabaseKind;
  /** Rows as objects by column name. */
  prepare<Row>(sql: string): Statement<Row>;
  /** Rows as arrays in column order: half the cost of objects for wide rows. */
  prepareRaw<Row>(sql: string): Statement<Row>;
  exec(sql: string): void;
  /** The first column of the first row of a pragma. */
  pragma(text: string): unknown;
  /** Consistent copy to another file while other connections write; blocks this thread until complete. */
  backup(path: string): Promise<void>;
  readonly inTransaction: boolean;
  readonly open: boolean;
  close(): void;
}

/** More pages than a database can have. */
const ALL_PAGES = 0x7fffffff;

export interface DriverOptions {
  readonly: boolean;
  /** How long a statement waits for another connection's lock. */
  busyWaitMs: number;
}

export function openDriver(path: string, options: DriverOptions): Database {
  const handle = new BetterSqlite3(path, {
    readonly: options.readonly,
    fileMustExist: options.readonly,
    timeout: options.busyWaitMs,
  });
  return {
    kind: "sqlite",
    prepare: <Row>(sql: string) => handle.prepare<SqlValue[], Row>(compiledOnce(sql)),
    prepareRaw: <Row>(sql: string) => {
      const statement = handle.prepare<SqlValue[], Row>(compiledOnce(sql));
      return statement.reader ? statement.raw(true) : statement;
    },
    exec: (sql) => void handle.exec(sql),
    pragma: (text) => handle.pragma(text, { simple: true }),
    // One step for all pages: if another process wrote between two steps, SQLite would restart the copy.
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

/**
 * The same SQL, with each parameter `?` as `+?`.
 *
 * When a compared parameter could imply the condition of a partial index, SQLite compiles the statement for its value, and again for
 * each further value: five times the cost of reading a row by its id. It does so only for a parameter that stands alone.
 * https://www.sqlite.org/c3ref/c_dbconfig_defensive.html, SQLITE_DBCONFIG_ENABLE_QPSG, says what the driver cannot switch off.
 */
export function compiledOnce(sql: string): string {
  return sql.replaceAll(PARAMETER_OR_TEXT, (found) => (found === "?" ? "+?" : found));
}

/** A parameter, or a text, name or comment in which a question mark is none. */
const PARAMETER_OR_TEXT = /\?|'[^']*'|"[^"]*"|--[^\n]*/g;

/** The driver's error code (SQLITE_...), or null for other errors. */
export function driverErrorCode(error: unknown): string | null {
  return error instanceof BetterSqlite3.SqliteError ? error.code : null;
}

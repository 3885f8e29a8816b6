/**
 * A SQLite store that is moved. An import makes a file beside the store, which takes its place at the end.
 *
 * SQLite only: sqlite_schema (information_schema).
 */
import { existsSync, rmSync } from "node:fs";
import { replaceStore } from "../home/copy.ts";
import { MIGRATIONS } from "../migrations/index.ts";
import { openReadHandle } from "../read/read-handle.ts";
import { databaseVersion } from "../schema/migrate.ts";
import type { Database } from "../sqlite/driver.ts";
import { Statements } from "../sqlite/statements.ts";
import { readCounters } from "../write/counters.ts";
import { closeWriteHandle, openWriteHandle } from "../write/write-handle.ts";
import { type Cell, type CellKind, type MovedColumn, type Row, type StoredOwner, TransferError } from "./format.ts";
import { type ImportedTables, type ImportProgress, PAGE_ROWS, type StoredTables } from "./stored-tables.ts";
import type { MovedTable } from "./tables.ts";

const KINDS: Readonly<Record<string, CellKind>> = { INTEGER: "integer", REAL: "real", TEXT: "text", BLOB: "bytes" };

/** The store of a home whose lock the caller holds. */
export function openSqliteExport(path: string): StoredTables {
  const database = openReadHandle(path);
  const version = databaseVersion(database);
  if (version === MIGRATIONS.length) return new SqliteTables(path, database);
  database.close();
  throw new TransferError(`${path} has version ${version}, this Millrace has ${MIGRATIONS.length}: start a server on it once`);
}

class SqliteTables implements StoredTables {
  readonly kind = "sqlite";
  readonly place: string;
  readonly #database: Database;

  constructor(place: string, database: Database) {
    this.place = place;
    this.#database = database;
  }

  async columns({ name }: MovedTable): Promise<MovedColumn[]> {
    const columns = this.#database.prepareRaw<[string, string]>("SELECT name, type FROM pragma_table_info(?)").all(name);
    return columns.map(([column, type]) => ({ name: column, kind: kindOf(name, column, type) }));
  }

  async *pages({ name, key }: MovedTable, columns: readonly MovedColumn[]): AsyncGenerator<Row[]> {
    const list = columns.map((column) => column.name).join(", ");
    const statement = this.#database.prepareRaw<Cell[]>(`SELECT ${list} FROM ${name} ORDER BY ${key.join(", ")}`);
    let page: Row[] = [];
    for (const row of statement.iterate()) {
      page.push(row);
      if (page.length < PAGE_ROWS) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }

  async owner(): Promise<StoredOwner> {
    const counters = readCounters(new Statements(this.#database));
    const row = this.#database.prepareRaw<[number, number, string]>("SELECT epoch, number, result FROM members").get();
    if (row === undefined) throw new TransferError(`${this.place} has no row of its owner`);
    const [epoch, number, result] = row;
    return { epoch, number, result: JSON.parse(result) as number[], counters };
  }

  async close(): Promise<void> {
    this.#database.close();
  }
}

function kindOf(table: string, column: string, type: string): CellKind {
  return table === "log_blocks" && column === "lines" ? "lines" : (KINDS[type] ?? "text");
}

/** @param aside where a store without runs goes that the import replaces */
export function openSqliteImport(path: string, aside: string): ImportedTables {
  if (existsSync(path)) refuseRuns(path);
  return new SqliteImport(path, aside);
}

function refuseRuns(path: string): void {
  const database = openReadHandle(path);
  try {
    const run = databaseVersion(database) === 0 ? undefined : database.prepareRaw("SELECT 1 FROM runs LIMIT 1").get();
    if (run !== undefined)
      throw new TransferError(`${path} has runs: import into a home without a store, or move that file away`);
  } finally {
    database.close();
  }
}

const CREATE_PROGRESS = "CREATE TABLE import_progress (export_id TEXT NOT NULL, table_name TEXT NOT NULL, rows INTEGER NOT NULL)";

class SqliteImport implements ImportedTables {
  readonly kind = "sqlite";
  readonly place: string;
  readonly #aside: string;
  readonly #part: string;
  #database: Database;
  #tables: SqliteTables;

  constructor(path: string, aside: string) {
    this.place = path;
    this.#aside = aside;
    this.#part = `${path}.importing`;
    this.#database = this.#open();
    this.#tables = new SqliteTables(path, this.#database);
  }

  columns(table: MovedTable): Promise<MovedColumn[]> {
    return this.#tables.columns(table);
  }

  pages(table: MovedTable, columns: readonly MovedColumn[]): AsyncGenerator<Row[]> {
    return this.#tables.pages(table, columns);
  }

  async begin(id: string): Promise<ImportProgress | null> {
    const known = this.#progress();
    if (known?.id === id) return known;
    this.#database.close();
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${this.#part}${suffix}`, { force: true });
    this.#database = this.#open();
    this.#tables = new SqliteTables(this.place, this.#database);
    this.#database.exec(`DELETE FROM settings; ${CREATE_PROGRESS}`);
    this.#database.prepareRaw("INSERT INTO import_progress (export_id, table_name, rows) VALUES (?, '', 0)").run(id);
    return null;
  }

  fitted(row: Cell[]): Cell[] {
    return row;
  }

  async insert(
    table: MovedTable,
    columns: readonly MovedColumn[],
    rows: readonly Row[],
    progress: ImportProgress,
  ): Promise<void> {
    const list = columns.map((column) => column.name).join(", ");
    const insert = this.#database.prepareRaw(`INSERT INTO ${table.name} (${list}) VALUES (${columns.map(() => "?").join(", ")})`);
    this.#transaction(() => {
      for (const row of rows) insert.run(...row);
      this.#database.prepareRaw("UPDATE import_progress SET table_name = ?, rows = ?").run(progress.table, progress.rows);
    });
  }

  async finish({ epoch, number, result, counters }: StoredOwner): Promise<void> {
    const counter = this.#database.prepareRaw(
      "INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    );
    const member = this.#database.prepareRaw("UPDATE members SET epoch = ?, number = ?, result = ?, commands = '[]'");
    this.#transaction(() => {
      for (const [name, value] of Object.entries(counters)) counter.run(name, value);
      member.run(epoch + 1, number, JSON.stringify(result));
      this.#database.exec("DROP TABLE import_progress");
    });
    closeWriteHandle(this.#database);
    replaceStore(this.place, this.#part, this.#aside);
  }

  async close(): Promise<void> {
    if (this.#database.open) closeWriteHandle(this.#database);
  }

  #open(): Database {
    return openWriteHandle(this.#part, { durability: "normal" });
  }

  #progress(): (ImportProgress & { id: string }) | null {
    const known = this.#database.prepareRaw("SELECT 1 FROM sqlite_schema WHERE name = 'import_progress'").get();
    if (known === undefined) return null;
    const row = this.#database
      .prepareRaw<[string, string, number]>("SELECT export_id, table_name, rows FROM import_progress")
      .get();
    return row === undefined ? null : { id: row[0], table: row[1], rows: row[2] };
  }

  #transaction(change: () => void): void {
    this.#database.exec("BEGIN");
    try {
      change();
      this.#database.exec("COMMIT");
    } catch (error) {
      this.#database.exec("ROLLBACK");
      throw error;
    }
  }
}

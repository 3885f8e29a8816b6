/**
 * A store in PostgreSQL that is moved. The session holds the lock of the store. During an import the store has no row of its
 * owner, so that no server takes it.
 */

import type { Connection } from "../postgres/connection.ts";
import { toPostgresError, withRights } from "../postgres/errors.ts";
import { MEMBER, readStanding } from "../postgres/member-row.ts";
import { migratePostgres, postgresVersion } from "../postgres/migrate.ts";
import { POSTGRES_MIGRATIONS } from "../postgres/migrations/index.ts";
import { openSession } from "../postgres/session.ts";
import { COUNTED } from "../schema/codes.ts";
import { type Cell, type CellKind, type MovedColumn, type Row, type StoredOwner, TransferError } from "./format.ts";
import { type ImportedTables, type ImportProgress, PAGE_ROWS, type StoredTables } from "./stored-tables.ts";
import { MOVED_TABLES, type MovedTable } from "./tables.ts";

const KINDS: Readonly<Record<string, CellKind>> = {
  bigint: "integer",
  integer: "integer",
  smallint: "integer",
  "double precision": "real",
  text: "text",
  bytea: "bytes",
};
/** What the columns of a portion of rows are sent as. */
const TYPES: Readonly<Record<CellKind, string>> = {
  integer: "int8",
  real: "float8",
  text: "text",
  bytes: "bytea",
  lines: "bytea",
};

/** Text of PostgreSQL holds no NUL characters. */
const NUL = "\0";
const NUL_SHOWN = "\uFFFD";

const COLUMNS = `SELECT column_name::text, data_type::text FROM information_schema.columns
  WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position`;
const IDENTITIES = `SELECT table_name::text, column_name::text FROM information_schema.columns
  WHERE table_schema = current_schema() AND is_identity = 'YES'`;
const CREATE_PROGRESS = `CREATE TABLE import_progress (
  export_id text NOT NULL, table_name text NOT NULL, rows bigint NOT NULL, epoch bigint NOT NULL, counters text NOT NULL)`;

export function openPostgresExport(url: string): Promise<StoredTables> {
  return opened(url, async (connection) => {
    const version = await postgresVersion(connection);
    const { database } = connection.place;
    if (version === 0) throw new TransferError(`there is no store in the database ${database}`);
    if (version < POSTGRES_MIGRATIONS.length)
      throw new TransferError(
        `the store has version ${version}, this Millrace has ${POSTGRES_MIGRATIONS.length}: start a server on it once`,
      );
    return new PostgresTables(connection);
  });
}

export function openPostgresImport(url: string): Promise<ImportedTables> {
  return opened(url, async (connection) => {
    await migratePostgres(connection);
    return new PostgresImport(connection);
  });
}

/** Opens a session that has the lock of the store. */
async function opened<Tables>(url: string, open: (connection: Connection) => Promise<Tables>): Promise<Tables> {
  const { connection, holder } = await openSession(url, null);
  try {
    if (holder !== null) throw new TransferError(`another Millrace has the store: ${holder}; stop it first`);
    return await open(connection);
  } catch (cause) {
    connection.drop();
    throw cause instanceof TransferError ? cause : withRights(toPostgresError(cause), connection.place);
  }
}

class PostgresTables implements StoredTables {
  readonly kind = "postgres";
  readonly place: string;
  readonly #connection: Connection;

  constructor(connection: Connection) {
    const { host, port, database } = connection.place;
    this.place = `the database ${database} at ${host}:${port}`;
    this.#connection = connection;
  }

  async columns({ name, derived = {} }: MovedTable): Promise<MovedColumn[]> {
    const columns = await this.#connection.rows<[string, string]>(COLUMNS, [name]);
    return columns
      .filter(([column]) => derived[column] === undefined)
      .map(([column, type]) => ({ name: column, kind: kindOf(name, column, type) }));
  }

  async *pages({ name, key }: MovedTable, columns: readonly MovedColumn[]): AsyncGenerator<Row[]> {
    const list = columns.map(selected).join(", ");
    const lines = columns.findIndex(({ kind }) => kind === "lines");
    await this.#connection.run(
      `BEGIN; DECLARE pages NO SCROLL CURSOR FOR SELECT ${list} FROM ${name} ORDER BY ${key.join(", ")}`,
    );
    try {
      for (;;) {
        const rows = await this.#connection.rows<Cell[]>(`FETCH ${PAGE_ROWS} FROM pages`);
        if (rows.length === 0) return;
        for (const row of rows) if (lines >= 0) row[lines] = linesOf(row[lines] as Uint8Array);
        yield rows;
      }
    } finally {
      if (this.#connection.isOpen) await this.#connection.run("ROLLBACK");
    }
  }

  async owner(): Promise<StoredOwner> {
    const { epoch, counters, newest } = await readStanding(this.#connection);
    const named = Object.fromEntries(COUNTED.map((name, index) => [name, counters[index] ?? 0]));
    const result = [newest.first_event_id, newest.first_seq, ...newest.logs];
    return { epoch, number: newest.number, result, counters: named };
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

function kindOf(table: string, column: string, type: string): CellKind {
  return table === "log_blocks" && column === "lines" ? "lines" : (KINDS[type] ?? "text");
}

/** Lines come with a byte before them that says whether they are deflated. */
function selected({ name, kind }: MovedColumn): string {
  return kind === "lines" ? `set_byte('\\x00'::bytea, 0, packed) || ${name}` : name;
}

function linesOf(stored: Uint8Array): Cell {
  const lines = Buffer.from(stored.buffer, stored.byteOffset + 1, stored.byteLength - 1);
  return stored[0] === 0 ? lines.toString("utf8") : lines;
}

class PostgresImport extends PostgresTables implements ImportedTables {
  readonly #connection: Connection;
  /** The types of the columns of each table, which take as long to read as a portion of rows to insert. */
  readonly #types = new Map<string, ReadonlyMap<string, string>>();
  /** The epoch and the highest ids that the store had before. */
  #before: { epoch: number; counters: Readonly<Record<string, number>> } = { epoch: 0, counters: {} };

  constructor(connection: Connection) {
    super(connection);
    this.#connection = connection;
  }

  async begin(id: string): Promise<ImportProgress | null> {
    // A crash of the database may take the newest portions with their progress: the next import inserts them again.
    await this.#connection.run("SET synchronous_commit = off");
    const [known] = await this.#connection.rows(
      "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'import_progress'",
    );
    if (known !== undefined) {
      const [row] = await this.#connection.rows<[string, string, number, number, string]>(
        "SELECT export_id, table_name, rows, epoch, counters FROM import_progress",
      );
      const [imported, table, rows, epoch, counters] = row ?? ["", "", 0, 0, "{}"];
      this.#before = { epoch, counters: JSON.parse(counters) as Record<string, number> };
      if (imported === id) return { table, rows };
    } else {
      const [run] = await this.#connection.rows("SELECT 1 FROM runs LIMIT 1");
      if (run !== undefined) throw new TransferError(`${this.place} has runs: import into an empty database`);
      this.#before = await this.owner();
    }
    await this.#empty(id);
    return null;
  }

  fitted(row: Cell[]): Cell[] {
    if (!row.some((cell) => typeof cell === "string" && cell.includes(NUL))) return row;
    return row.map((cell) => (typeof cell === "string" ? cell.replaceAll(NUL, NUL_SHOWN) : cell));
  }

  async insert(
    table: MovedTable,
    columns: readonly MovedColumn[],
    rows: readonly Row[],
    progress: ImportProgress,
  ): Promise<void> {
    await this.#transaction(async () => {
      for (const [name, part] of this.#parts(table, columns, rows)) await this.#insertInto(name, table, columns, part);
      await this.#connection.rows("UPDATE import_progress SET table_name = $1, rows = $2", [progress.table, progress.rows]);
    });
  }

  async finish({ epoch, number, result, counters }: StoredOwner): Promise<void> {
    // The transaction that completes the store is flushed, and all portions before it with it.
    await this.#connection.run("RESET synchronous_commit");
    const given = this.#before.counters;
    const raised = COUNTED.map((name) => Math.max(counters[name] ?? 0, given[name] ?? 0));
    const owner = [Math.max(epoch, this.#before.epoch) + 1, number, raised, JSON.stringify(result)];
    const identities = await this.#connection.rows<[string, string]>(IDENTITIES);
    await this.#transaction(async () => {
      for (const [table, column] of identities) {
        const next = `coalesce(max(${column}), 0) + 1, false`;
        await this.#connection.rows(`SELECT setval(pg_get_serial_sequence('${table}', '${column}'), ${next}) FROM ${table}`);
      }
      await this.#noteEventGap(counters["events"] ?? 0, given["events"] ?? 0);
      await this.#connection.rows(
        `INSERT INTO members (member, epoch, number, counters, result, commands)
          VALUES (${MEMBER}, $1, $2, $3::int8[], $4, '[]')`,
        owner,
      );
      await this.#connection.run("DROP TABLE import_progress");
    });
    await this.#connection.run("ANALYZE");
  }

  /** Event ids that the store had given before are missing, as after a restore (storage/load/event-gaps.ts). */
  async #noteEventGap(imported: number, given: number): Promise<void> {
    if (given <= imported) return;
    const [row] = await this.#connection.rows<[string]>("SELECT value FROM settings WHERE name = 'event_gaps'");
    const gaps = [...(JSON.parse(row?.[0] ?? "[]") as number[][]), [imported + 1, given]];
    await this.#connection.rows(
      "INSERT INTO settings (name, value) VALUES ('event_gaps', $1) ON CONFLICT (index_key(name)) DO UPDATE SET value = excluded.value",
      [JSON.stringify(gaps)],
    );
  }

  async #empty(id: string): Promise<void> {
    const tables = MOVED_TABLES.flatMap(({ name, split }) => split?.tables ?? [name]);
    await this.#transaction(async () => {
      await this.#connection.run(`DROP TABLE IF EXISTS import_progress; TRUNCATE ${tables.join(", ")}; DELETE FROM members`);
      await this.#connection.run(CREATE_PROGRESS);
      const { epoch, counters } = this.#before;
      await this.#connection.rows("INSERT INTO import_progress VALUES ($1, '', 0, $2, $3)", [
        id,
        epoch,
        JSON.stringify(counters),
      ]);
    });
  }

  #parts({ name, split }: MovedTable, columns: readonly MovedColumn[], rows: readonly Row[]): Iterable<[string, Row[]]> {
    const parts = new Map<string, Row[]>();
    for (const row of rows) {
      const table = split?.tableOf((column) => cellNamed(columns, row, column)) ?? name;
      const part = parts.get(table);
      if (part === undefined) parts.set(table, [row]);
      else part.push(row);
    }
    return parts;
  }

  async #insertInto(
    name: string,
    { derived = {} }: MovedTable,
    columns: readonly MovedColumn[],
    rows: readonly Row[],
  ): Promise<void> {
    const made = Object.entries(derived);
    const types = await this.#typesOf(name);
    const names = [...columns.map((column) => column.name), ...made.map(([column]) => column)];
    const kinds = [...columns.map(({ kind }) => TYPES[kind]), ...made.map(([column]) => types.get(column) ?? "text")];
    const values = [
      ...columns.map((_column, index) => rows.map((row) => stored(columns, index, row[index] ?? null))),
      ...made.map(([, make]) => rows.map((row) => make((column) => cellNamed(columns, row, column)))),
    ];
    const arrays = kinds.map((type, index) => `$${index + 1}::${type}[]`).join(", ");
    await this.#connection.rows(
      `INSERT INTO ${name} (${names.join(", ")}) OVERRIDING SYSTEM VALUE SELECT * FROM unnest(${arrays})`,
      values,
    );
  }

  async #typesOf(table: string): Promise<ReadonlyMap<string, string>> {
    const known = this.#types.get(table);
    if (known !== undefined) return known;
    const types = new Map(await this.#connection.rows<[string, string]>(COLUMNS, [table]));
    this.#types.set(table, types);
    return types;
  }

  async #transaction(change: () => Promise<void>): Promise<void> {
    await this.#connection.run("BEGIN");
    try {
      await change();
      await this.#connection.run("COMMIT");
    } catch (cause) {
      if (this.#connection.isOpen) await this.#connection.run("ROLLBACK");
      throw toPostgresError(cause);
    }
  }
}

function cellNamed(columns: readonly MovedColumn[], row: Row, name: string): Cell {
  return row[columns.findIndex((column) => column.name === name)] ?? null;
}

function stored(columns: readonly MovedColumn[], index: number, cell: Cell): Cell {
  return columns[index]?.kind === "lines" && typeof cell === "string" ? Buffer.from(cell) : cell;
}

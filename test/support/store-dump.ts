/** The rows of a store of either kind in one form, to compare the stores. */

import type { Connection } from "#storage/postgres/connection";
import { COUNTED } from "#storage/schema/codes";
import type { Database } from "#storage/sqlite/driver";

type Row = Readonly<Record<string, unknown>>;
export type StoreDump = Readonly<Record<string, readonly string[]>>;

/** Not rows of the core: settings and versions of the store itself, and what only one kind has. */
const OWN_TABLES = ["migrations", "settings", "counters", "members", "commits", "live_runs", "refusing"];
/** Ids that the store gives and no client sees, and columns that PostgreSQL has besides. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  steps: ["id"],
  quarantine: ["id"],
  events: ["resource_kind", "resource_id"],
  log_blocks: ["packed"],
};

/** One text for each row, sorted. `counters` has the highest ids. */
export function dumpSqlite(database: Database): StoreDump {
  const tables = database.prepareRaw<[string]>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const dump: Record<string, readonly string[]> = {};
  for (const [table] of tables) {
    if (OWN_TABLES.includes(table)) continue;
    dump[table] = texts(table, database.prepare<Row>(`SELECT * FROM ${table}`).all());
  }
  const counters = new Map(database.prepareRaw<[string, number]>("SELECT name, value FROM counters").all());
  dump["counters"] = COUNTED.map((name) => `${name} ${counters.get(name) ?? 0}`);
  return dump;
}

export async function dumpPostgres(connection: Connection): Promise<StoreDump> {
  const tables = await connection.rows<[string]>("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
  const dump: Record<string, readonly string[]> = {};
  for (const [table] of tables) {
    if (OWN_TABLES.includes(table)) continue;
    const rows = await rowsOf(connection, table);
    dump[table === "ended_runs" ? "runs" : table] = texts(
      table,
      table === "ended_runs" ? [...rows, ...(await rowsOf(connection, "live_runs"))] : rows,
    );
  }
  const counters = await connection.rows<[number]>("SELECT unnest(counters) FROM members");
  dump["counters"] = COUNTED.map((name, index) => `${name} ${counters[index]?.[0] ?? 0}`);
  return dump;
}

async function rowsOf(connection: Connection, table: string): Promise<Row[]> {
  const columns = await connection.rows<[string]>(
    "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1 ORDER BY ordinal_position",
    [table],
  );
  const rows = await connection.rows<unknown[]>(`SELECT * FROM ${table}`);
  return rows.map((row) => Object.fromEntries(columns.map(([column], index) => [column, row[index]])));
}

function texts(table: string, rows: readonly Row[]): string[] {
  const lines = rows.map((row) => {
    const values = Object.entries(row).filter(([column]) => LEFT_OUT[table]?.includes(column) !== true);
    return JSON.stringify(
      values.sort(([a], [b]) => (a < b ? -1 : 1)).map(([column, value]) => [column, storedForm(table, column, value)]),
    );
  });
  return lines.sort();
}

/**
 * Bytes as hexadecimal digits. Marks without the times of commits: a mark of the same commit as the one before may repeat the time
 * or leave it out (storage/schema/run-marks.ts). The lines of a log block are text or bytes in SQLite, and bytes in PostgreSQL.
 */
function storedForm(table: string, column: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (column === "marks" && typeof value === "string") return value.replace(/@\d+/g, "@");
  if (table === "log_blocks" && column === "lines") return Buffer.from(String(value)).toString("hex");
  return value;
}

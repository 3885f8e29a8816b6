/** Copies the rows of a SQLite store into a PostgreSQL database that has the schema, row by row: for stores of tests. */
import type { Connection } from "#storage/postgres/connection";
import { COUNTED } from "#storage/schema/codes";
import type { Database } from "#storage/sqlite/driver";

type Row = Record<string, unknown>;

const NOT_COPIED = ["migrations", "members", "commits", "live_runs"];

export async function copyToPostgres(database: Database, connection: Connection): Promise<void> {
  const tables = await connection.rows<[string]>("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1");
  for (const [table] of tables) if (!NOT_COPIED.includes(table)) await copyTable(database, connection, table);
  const counters = new Map(database.prepareRaw<[string, number]>("SELECT name, value FROM counters").all());
  const values = COUNTED.map((name) => counters.get(name) ?? 0);
  await connection.rows("DELETE FROM members");
  const columns = await columnsOf(connection, "members");
  const row: Row = {
    member: 1,
    epoch: 1,
    fenced: 0,
    number: 0,
    result: "[0,0]",
    commands: "[]",
    counters: `{${values.join(",")}}`,
  };
  await insert(connection, "members", columns, row);
}

async function copyTable(database: Database, connection: Connection, table: string): Promise<void> {
  const columns = await columnsOf(connection, table);
  for (const row of database.prepare<Row>(`SELECT * FROM ${table === "ended_runs" ? "runs" : table}`).iterate()) {
    const target = table === "ended_runs" && row["end_time"] === null ? "live_runs" : table;
    await insert(connection, target, columns, withOwnColumns(table, row));
  }
}

/** The columns that only PostgreSQL has. */
function withOwnColumns(table: string, row: Row): Row {
  if (table === "events" && typeof row["resource"] === "string") {
    const { kind, id } = JSON.parse(row["resource"]) as { kind?: unknown; id?: unknown };
    return { ...row, resource_kind: kind ?? null, resource_id: id ?? null };
  }
  const { lines } = row;
  if (table !== "log_blocks") return row;
  return typeof lines === "string" ? { ...row, packed: 0, lines: Buffer.from(lines) } : { ...row, packed: 1 };
}

async function columnsOf(connection: Connection, table: string): Promise<string[]> {
  const columns = await connection.rows<[string]>(
    "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1",
    [table],
  );
  return columns.map(([name]) => name);
}

async function insert(connection: Connection, table: string, columns: readonly string[], row: Row): Promise<void> {
  const present = columns.filter((column) => row[column] !== undefined);
  const places = present.map((_column, index) => `$${index + 1}`);
  const values = present.map((column) => (row[column] instanceof Uint8Array ? Buffer.from(row[column]) : row[column]));
  await connection.rows(
    `INSERT INTO ${table} (${present.join(", ")}) OVERRIDING SYSTEM VALUE VALUES (${places.join(", ")}) ON CONFLICT DO NOTHING`,
    values,
  );
}

/** Migrates a PostgreSQL database to the current schema; refuses one of a newer version or of another program. */
import { StorageError } from "../sqlite/storage-error.ts";
import type { Connection } from "./connection.ts";
import { POSTGRES_MIGRATIONS } from "./migrations/index.ts";

/** Every store has these tables since its first migration, and databases of other programs do not have all three. */
const OWN_TABLES = ["live_runs", "members", "migrations"];

/** The tables of the schema that holds the store. */
export const SCHEMA_TABLES = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()";
export const APPLIED_MIGRATIONS = "SELECT count(*) FROM migrations";

const CREATE = "CREATE TABLE IF NOT EXISTS migrations (version bigint PRIMARY KEY, name text NOT NULL)";

/** The number of migrations applied to this database; 0 for an empty one. */
export async function postgresVersion(connection: Connection): Promise<number> {
  const tables = await connection.rows<[string]>(SCHEMA_TABLES);
  if (tables.length === 0) return 0;
  refuseForeign(tables.flat(), connection.place.database);
  const [[version] = [0]] = await connection.rows<[number]>(APPLIED_MIGRATIONS);
  return knownVersion(version);
}

/** @throws StorageError when the tables are of another program */
export function refuseForeign(tables: readonly string[], database: string): void {
  if (OWN_TABLES.every((table) => tables.includes(table))) return;
  const found = tables.slice(0, 3).join(", ");
  throw new StorageError("foreign", `the database ${database} has tables of another program (${found}): choose an empty one`);
}

/** @throws StorageError when the store is of a newer program */
export function knownVersion(version: number): number {
  if (version <= POSTGRES_MIGRATIONS.length) return version;
  const known = `this program knows versions up to ${POSTGRES_MIGRATIONS.length}`;
  throw new StorageError("newer", `the store has version ${version}, ${known}: use a newer Millrace`);
}

/** Applies missing migrations, each in one transaction; returns their names. */
export async function migratePostgres(connection: Connection): Promise<string[]> {
  const version = await postgresVersion(connection);
  const missing = POSTGRES_MIGRATIONS.slice(version);
  for (const [index, { name, sql }] of missing.entries()) {
    const noted = `INSERT INTO migrations (version, name) VALUES (${version + index + 1}, '${name}')`;
    // Statements sent together are one transaction.
    await connection.run(`${CREATE};${sql};${noted}`);
  }
  return missing.map(({ name }) => name);
}

/** Migrates a PostgreSQL database to the current schema; rejects a database of a newer version. */
import { StorageError } from "../sqlite/storage-error.ts";
import type { Connection } from "./connection.ts";
import { MIGRATIONS } from "./migrations/index.ts";

/** Applies missing migrations, each in one transaction; returns their names. */
export async function migrate(connection: Connection): Promise<string[]> {
  await connection.run("CREATE TABLE IF NOT EXISTS migrations (version bigint PRIMARY KEY, name text NOT NULL)");
  const [[version] = [0]] = await connection.rows<[number]>("SELECT count(*) FROM migrations");
  if (version > MIGRATIONS.length)
    throw new StorageError("newer", `the store has version ${version}, this program knows versions up to ${MIGRATIONS.length}`);
  const missing = MIGRATIONS.slice(version);
  for (const [index, { name, sql }] of missing.entries()) {
    const noted = `INSERT INTO migrations (version, name) VALUES (${version + index + 1}, '${name}')`;
    // Statements sent together are one transaction.
    await connection.run(`${sql};${noted}`);
  }
  return missing.map(({ name }) => name);
}

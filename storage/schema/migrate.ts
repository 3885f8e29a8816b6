/**
 * Migrates a database to the current schema; rejects a database of a newer version.
 *
 * SQLite only: PRAGMA (a row in the table migrations), BEGIN IMMEDIATE (BEGIN, with one writer), sqlite_schema
 * (information_schema).
 */

import { MIGRATIONS, type Migration } from "../migrations/index.ts";
import type { Database } from "../sqlite/driver.ts";
import { StorageError } from "../sqlite/storage-error.ts";

/** Every store has these tables since its first migration, and databases of other programs do not have all three. */
const OWN_TABLES = ["counters", "migrations", "runs"];

/** True for a database that has tables but is no Millrace store. */
function isForeign(database: Database): boolean {
  const tables = database.prepareRaw<[string]>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const names = new Set(tables.map(([name]) => name));
  return names.size > 0 && !OWN_TABLES.every((name) => names.has(name));
}

/** The number of migrations applied to this database. Throws for unknown migrations and for a database of another program. */
export function databaseVersion(database: Database, known: readonly Migration[] = MIGRATIONS): number {
  if (isForeign(database)) {
    const message = "db.sqlite is the database of another program, not a store of Millrace: choose another home";
    throw new StorageError("foreign", message);
  }
  const version = Number(database.pragma("user_version"));
  if (version > known.length) {
    const message = `the database has version ${version}, this program knows versions up to ${known.length}: use a newer Millrace`;
    throw new StorageError("newer", message);
  }
  return version;
}

/** Applies missing migrations, each in one transaction; returns their names. */
export function migrate(database: Database, known: readonly Migration[] = MIGRATIONS): string[] {
  const version = databaseVersion(database, known);
  const applied: string[] = [];
  for (const [index, migration] of known.entries()) {
    if (index < version) continue;
    database.exec("BEGIN IMMEDIATE");
    try {
      database.exec("CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL)");
      database.exec(migration.sql);
      database.prepare("INSERT INTO migrations (version, name) VALUES (?, ?)").run(index + 1, migration.name);
      database.exec(`PRAGMA user_version = ${index + 1}`);
      database.exec("COMMIT");
    } catch (error) {
      if (database.inTransaction) database.exec("ROLLBACK");
      throw error;
    }
    applied.push(migration.name);
  }
  return applied;
}

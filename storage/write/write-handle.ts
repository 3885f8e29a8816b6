/**
 * The only read-write handle of the store. Only the store writer imports this file.
 *
 * SQLite only: PRAGMA (nothing: there is no WAL to fold into the file).
 */
import { randomInt } from "node:crypto";
import { chmodSync, closeSync, openSync } from "node:fs";
import { refuseNoted } from "../home/store-files.ts";
import { IN_MEMORY } from "../read/read-handle.ts";
import { databaseVersion, migrate } from "../schema/migrate.ts";
import { type Database, openDriver } from "../sqlite/driver.ts";
import { BUSY_WAIT_MS, checkLibrary, type Durability, libraryVersion, setWriterPragmas } from "../sqlite/pragmas.ts";
import { toStorageError } from "../sqlite/storage-error.ts";

/** Readable by the owner only; the WAL and the shared-memory file get the same mode. */
const FILE_MODE = 0o600;

export interface WriteHandleOptions {
  durability: Durability;
  /** Mixed into the external ids of events, set once per store; random when not given. */
  salt?: number;
}

/** Opens (creates, migrates) the store for writing. Throws a StorageError when it can't be used. */
export function openWriteHandle(path: string, options: WriteHandleOptions): Database {
  let database: Database | null = null;
  try {
    if (path !== IN_MEMORY) refuseNoted(path);
    if (path !== IN_MEMORY) makePrivate(path);
    database = openDriver(path, { readonly: false, busyWaitMs: BUSY_WAIT_MS });
    checkLibrary(libraryVersion(database));
    // Check before the first write, so that the database of another program is not changed.
    databaseVersion(database);
    setWriterPragmas(database, options.durability);
    migrate(database);
    const salt = options.salt ?? randomInt(2 ** 32 - 1);
    database.prepare("INSERT INTO settings (name, value) VALUES ('event_salt', ?) ON CONFLICT DO NOTHING").run(String(salt));
    return database;
  } catch (error) {
    database?.close();
    throw toStorageError(error);
  }
}

/** How long an old read transaction may delay the end of a server. */
const FOLD_WAIT_MS = 500;

/** At the end of a server, folds the WAL into the file, so that a store without a server is a single file. */
export function closeWriteHandle(database: Database): void {
  try {
    database.exec(`PRAGMA busy_timeout = ${FOLD_WAIT_MS}`);
    database.pragma("wal_checkpoint(TRUNCATE)");
  } catch (error) {
    // On a full disk the WAL keeps the pages for the next start.
    if (toStorageError(error).fault === "operation") throw error;
  } finally {
    database.close();
  }
}

function makePrivate(path: string): void {
  closeSync(openSync(path, "a", FILE_MODE));
  chmodSync(path, FILE_MODE);
}

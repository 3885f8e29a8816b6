/** The only read-write handle of the store. Imported by the store writer alone. */
import { randomInt } from "node:crypto";
import { chmodSync, closeSync, openSync } from "node:fs";
import { type Database, openDriver } from "./driver.ts";
import { databaseVersion, migrate } from "./migrate.ts";
import { BUSY_WAIT_MS, checkLibrary, type Durability, libraryVersion, setWriterPragmas } from "./pragmas.ts";
import { IN_MEMORY } from "./read-handle.ts";
import { toStorageError } from "./storage-error.ts";
import { refuseNoted } from "./store-files.ts";

/** Readable by its owner alone; the WAL and the shared-memory file take over the mode. */
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
    // Before anything is written: the database of another program stays as it is.
    databaseVersion(database);
    setWriterPragmas(database, options.durability);
    migrate(database);
    const salt = options.salt ?? randomInt(2 ** 32 - 1);
    database.prepare("INSERT OR IGNORE INTO settings (name, value) VALUES ('event_salt', ?)").run(String(salt));
    return database;
  } catch (error) {
    database?.close();
    throw toStorageError(error);
  }
}

/** How long a reader with an old state of the store may hold up the end of a server. */
const FOLD_WAIT_MS = 500;

/** At the end of a server: what the log holds goes into the file, so that the store is one file while none runs. */
export function closeWriteHandle(database: Database): void {
  try {
    database.exec(`PRAGMA busy_timeout = ${FOLD_WAIT_MS}`);
    database.pragma("wal_checkpoint(TRUNCATE)");
  } catch (error) {
    // A full disk takes no page; the log keeps them for the next start.
    if (toStorageError(error).fault === "operation") throw error;
  } finally {
    database.close();
  }
}

function makePrivate(path: string): void {
  closeSync(openSync(path, "a", FILE_MODE));
  chmodSync(path, FILE_MODE);
}

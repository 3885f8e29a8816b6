/** The only read-write handle of the store. Imported by the store writer alone. */
import { randomInt } from "node:crypto";
import { chmodSync, closeSync, openSync } from "node:fs";
import { type Database, openDriver } from "./driver.ts";
import { migrate } from "./migrate.ts";
import { BUSY_WAIT_MS, checkLibrary, type Durability, libraryVersion, setWriterPragmas } from "./pragmas.ts";
import { IN_MEMORY } from "./read-handle.ts";
import { toStorageError } from "./storage-error.ts";

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
    if (path !== IN_MEMORY) makePrivate(path);
    database = openDriver(path, { readonly: false, busyWaitMs: BUSY_WAIT_MS });
    checkLibrary(libraryVersion(database));
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

function makePrivate(path: string): void {
  closeSync(openSync(path, "a", FILE_MODE));
  chmodSync(path, FILE_MODE);
}

/**
 * Checkpoints beside the writer: a connection of its own copies the log into the database file while the writer goes on.
 * The library's floor (pragmas.ts) makes that safe.
 */
import { type Database, openDriver } from "./driver.ts";
import { lacksPages } from "./missing-pages.ts";
import { BUSY_WAIT_MS } from "./pragmas.ts";
import { toStorageError } from "./storage-error.ts";

/** Opens a store that exists for checkpoints only. */
export function openCheckpointHandle(path: string): Database {
  try {
    const database = openDriver(path, { readonly: false, busyWaitMs: BUSY_WAIT_MS });
    // Without this a checkpoint would not flush the log before it overwrites pages of the database.
    database.exec("PRAGMA synchronous = NORMAL");
    return database;
  } catch (error) {
    throw toStorageError(error);
  }
}

/**
 * Copies what can be copied without holding anybody up. False, and nothing is copied, when pages are missing in the file: the
 * copy would give a truncated file its length back, and nobody could see any more that it lacks pages.
 */
export function checkpoint(path: string, database: Database): boolean {
  if (lacksPages(path, database, Number(database.pragma("page_size")))) return false;
  database.prepareRaw("PRAGMA wal_checkpoint(PASSIVE)").get();
  return true;
}

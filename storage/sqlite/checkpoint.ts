/**
 * Checkpoints beside the writer: a separate connection copies the WAL into the database file while the writer commits. The
 * required SQLite version (pragmas.ts) makes that safe.
 */

import { lacksPages } from "../home/missing-pages.ts";
import { type Database, openDriver } from "./driver.ts";
import { BUSY_WAIT_MS } from "./pragmas.ts";
import { toStorageError } from "./storage-error.ts";

/** Opens an existing store, for checkpoints only. */
export function openCheckpointHandle(path: string): Database {
  try {
    const database = openDriver(path, { readonly: false, busyWaitMs: BUSY_WAIT_MS });
    // Otherwise a checkpoint would not flush the WAL before overwriting pages of the database.
    database.exec("PRAGMA synchronous = NORMAL");
    return database;
  } catch (error) {
    throw toStorageError(error);
  }
}

/**
 * Copies as much of the WAL as possible without blocking readers or the writer. Copies nothing and returns false when the
 * file lacks pages: a copy would restore the length of a truncated file and hide the loss.
 */
export function checkpoint(path: string, database: Database): boolean {
  if (lacksPages(path, database, Number(database.pragma("page_size")))) return false;
  database.prepareRaw("PRAGMA wal_checkpoint(PASSIVE)").get();
  return true;
}

/**
 * Checkpoints beside the writer: a connection of its own copies the log into the database file while the writer goes on.
 * The library's floor (pragmas.ts) makes that safe.
 */
import { type Database, openDriver } from "./driver.ts";
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

/** Copies what can be copied without holding anybody up; returns the pages in the log and how many of them are copied. */
export function checkpoint(database: Database): { logPages: number; copiedPages: number } {
  const row = database.prepareRaw<[busy: number, log: number, copied: number]>("PRAGMA wal_checkpoint(PASSIVE)").get();
  return { logPages: row?.[1] ?? 0, copiedPages: row?.[2] ?? 0 };
}

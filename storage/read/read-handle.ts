/**
 * Read-only handles of the store: for point reads and first pages in the gateway and the core, and for scans in the reader
 * pool.
 */

import { isPostgresUrl } from "../postgres/location.ts";
import { openPostgresReadHandle } from "../postgres/read-handle.ts";
import { databaseVersion } from "../schema/migrate.ts";
import { type Database, openDriver } from "../sqlite/driver.ts";
import { BUSY_WAIT_MS, setReaderPragmas } from "../sqlite/pragmas.ts";
import { toStorageError } from "../sqlite/storage-error.ts";

/** An in-memory store, for the simulator: readers share its connection. */
export const IN_MEMORY = ":memory:";

/**
 * A read-only handle of a store, by the path of its file or its URL. An in-memory store has a single connection: pass it as `shared`.
 * While PostgreSQL cannot be reached, a read waits for it for `patienceMs`.
 */
export function openReadHandle(path: string, shared: Database | null = null, patienceMs = 0): Database {
  if (path === IN_MEMORY && shared !== null) return shared;
  if (isPostgresUrl(path)) return openPostgresReadHandle(path, { patienceMs });
  try {
    const database = openDriver(path, { readonly: true, busyWaitMs: BUSY_WAIT_MS });
    setReaderPragmas(database);
    databaseVersion(database);
    return database;
  } catch (error) {
    throw toStorageError(error);
  }
}

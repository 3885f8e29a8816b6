/** The sizes of the store for the settings and the metrics. */
import { statSync } from "node:fs";
import type { StoreSizes } from "#actors/records/server-info";
import { isPostgresUrl } from "#storage/postgres/location";
import type { Database } from "#storage/sqlite/driver";

/** PostgreSQL asks the file system for the size of each table: not for each reader of the metrics. */
const ASKED_MS = 10_000;

export function storeSizes(store: string, database: Database): () => StoreSizes {
  return isPostgresUrl(store) ? databaseSizes(database) : () => ({ database: bytesOf(store), wal: bytesOf(`${store}-wal`) });
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function databaseSizes(database: Database): () => StoreSizes {
  const size = database.prepareRaw<[number]>("SELECT pg_database_size(current_database())");
  let known: StoreSizes = { database: 0, wal: 0 };
  let askedMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - askedMs < ASKED_MS) return known;
    askedMs = performance.now();
    known = { database: size.get()?.[0] ?? 0, wal: 0 };
    return known;
  };
}

/** The sizes of the store for the settings and the metrics. */
import { statSync } from "node:fs";
import type { StoreSizes } from "#actors/records/server-info";
import { isPostgresUrl } from "#storage/postgres/location";

/** PostgreSQL asks the file system for the size of each table: not for each reader of the metrics. */
const ASKED_MS = 10_000;

/** @param askBytes asks PostgreSQL for the size of the database */
export function storeSizes(store: string, askBytes: () => number): () => StoreSizes {
  return isPostgresUrl(store) ? asked(askBytes) : () => ({ database: bytesOf(store), wal: bytesOf(`${store}-wal`) });
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function asked(askBytes: () => number): () => StoreSizes {
  let known: StoreSizes = { database: 0, wal: 0 };
  let askedMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - askedMs < ASKED_MS) return known;
    askedMs = performance.now();
    known = { database: askBytes(), wal: 0 };
    return known;
  };
}

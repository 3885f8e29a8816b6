/**
 * Whether pages of the database are neither in its file nor in the WAL: then the file was truncated.
 *
 * SQLite only: PRAGMA (nothing: the database watches its own files).
 */
import { statSync } from "node:fs";
import type { Database } from "../sqlite/driver.ts";

/**
 * Every page is in the file or in the part of the WAL not yet copied. The order of reading is database pages, WAL, file, so
 * that a concurrent commit can only lengthen the WAL and a concurrent checkpoint only the file.
 */
export function lacksPages(path: string, database: Database, pageBytes: number): boolean {
  const pages = pageCount(database);
  const outstanding = framesNotCopied(database);
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (pages === null || outstanding === null || size === 0) return size === 0;
  return pages - Math.floor(size / pageBytes) > outstanding;
}

function pageCount(database: Database): number | null {
  try {
    return Number(database.pragma("page_count"));
  } catch {
    // The file is damaged; commits and reads report that.
    return null;
  }
}

function framesNotCopied(database: Database): number | null {
  try {
    const [, log = 0, copied = 0] = database.prepareRaw<[number, number, number]>("PRAGMA wal_checkpoint(NOOP)").get() ?? [];
    return log - copied;
  } catch {
    return null;
  }
}

/** Whether pages of the database are neither in its file nor in the write-ahead log: somebody truncated the file. */
import { statSync } from "node:fs";
import type { Database } from "./driver.ts";

/**
 * Every page is in the file, or in the part of the log that is not copied yet. The pages are counted before the log and the log
 * before the file, so that a commit beside this only makes the log longer and a checkpoint only the file.
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
    // A damaged file: commits and reads say so.
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

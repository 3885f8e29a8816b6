/** Settings of a connection, and the oldest SQLite version allowed. */
import type { Database } from "./driver.ts";
import { StorageError } from "./storage-error.ts";

/** "normal" survives a crash of the process; "full" also a power cut, for one flush per commit. */
export type Durability = "normal" | "full";

/** Below 3.51.3 two connections that write and checkpoint concurrently can lose committed transactions. */
const VERSION_FLOOR = [3, 51, 3] as const;

/** Online backup tools hold the write lock for the length of a checkpoint. */
export const BUSY_WAIT_MS = 5_000;

/**
 * WAL pages at which a commit copies the WAL into the database file. The checkpointer has copied most pages before, so such a
 * commit copies the rest and the WAL starts over; without a checkpointer this bounds the WAL (ADR 7).
 */
const CHECKPOINT_PAGES = 16_000;

/** A WAL that grew behind a long reader is truncated to this size. */
const WAL_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Page caches, KiB. A larger cache of the writer makes commits slower: when SQLite rearranges pages, the page number that it
 * uses for a moment is above all others, and SQLite then reads its whole page table to forget that number.
 */
const WRITER_CACHE_KIB = 8_192;
const READER_CACHE_KIB = 8_192;

/** Throws for a library version that can lose commits. */
export function checkLibrary(version: string): void {
  const parts = version.split(".").map(Number);
  for (const [index, floor] of VERSION_FLOOR.entries()) {
    const part = parts[index] ?? 0;
    if (part > floor) return;
    if (part < floor)
      throw new StorageError("library", `SQLite ${version} can lose commits; ${VERSION_FLOOR.join(".")} or newer is needed`);
  }
}

export function libraryVersion(database: Database): string {
  const row = database.prepare<{ version: string }>("SELECT sqlite_version() AS version").get();
  return row?.version ?? "0";
}

export function setWriterPragmas(database: Database, durability: Durability): void {
  // Has effect only before the first table exists.
  database.exec("PRAGMA auto_vacuum = INCREMENTAL");
  database.exec("PRAGMA journal_mode = WAL");
  database.exec(`PRAGMA synchronous = ${durability === "full" ? "FULL" : "NORMAL"}`);
  database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  database.exec(`PRAGMA journal_size_limit = ${WAL_BYTES_MAX}`);
  database.exec(`PRAGMA cache_size = -${WRITER_CACHE_KIB}`);
  setCommonPragmas(database);
}

export function setReaderPragmas(database: Database): void {
  database.exec("PRAGMA query_only = ON");
  database.exec(`PRAGMA cache_size = -${READER_CACHE_KIB}`);
  setCommonPragmas(database);
}

function setCommonPragmas(database: Database): void {
  database.exec(`PRAGMA busy_timeout = ${BUSY_WAIT_MS}`);
  database.exec("PRAGMA temp_store = MEMORY");
  database.exec("PRAGMA trusted_schema = OFF");
  // The core decides the order and lifetime of rows; checks on every insert would only cost time.
  database.exec("PRAGMA foreign_keys = OFF");
  // With a memory map, an I/O error becomes a signal that ends the process.
  database.exec("PRAGMA mmap_size = 0");
}

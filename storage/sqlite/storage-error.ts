/** Failures of the store that callers distinguish. */
import { driverErrorCode } from "./driver.ts";

export type StorageFault =
  /** The disk or the quota is full: nothing was written. */
  | "full"
  /** The disk failed to read or write. */
  | "io"
  /** Another connection holds the write lock, or another server the store. */
  | "busy"
  /** The file is not a database or is damaged. */
  | "corrupt"
  /** The store was written by a newer version. */
  | "newer"
  /** The database belongs to another program. */
  | "foreign"
  /** The SQLite library or the PostgreSQL server is older than required, or set up in a way that a store cannot use. */
  | "library"
  /** The database server can't be reached or takes no connections now. */
  | "unreachable"
  /** The database server refuses this user or this database. */
  | "denied"
  /** Another process has opened the store for writing. */
  | "fenced"
  /** An operation that must not fail did. */
  | "operation"
  /** A query took longer than its time limit. */
  | "query"
  /** The queue for readers is full. */
  | "queue"
  /** A reader ended or failed to read. */
  | "reader";

export class StorageError extends Error {
  readonly fault: StorageFault;
  /** True when freeing space helps (507 instead of 503). */
  readonly disk_full: boolean;

  constructor(fault: StorageFault, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "StorageError";
    this.fault = fault;
    this.disk_full = fault === "full";
  }
}

/** Converts an error of the driver; an unknown error counts as a failed operation. */
export function toStorageError(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const code = driverErrorCode(error);
  const message = error instanceof Error ? error.message : String(error);
  if (code === null) return new StorageError("operation", message, error);
  if (code.startsWith("SQLITE_FULL")) return new StorageError("full", message, error);
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) return new StorageError("busy", message, error);
  if (code.startsWith("SQLITE_CORRUPT") || code.startsWith("SQLITE_NOTADB")) return new StorageError("corrupt", message, error);
  if (code.startsWith("SQLITE_IOERR") || code.startsWith("SQLITE_READONLY") || code.startsWith("SQLITE_CANTOPEN"))
    return new StorageError("io", message, error);
  return new StorageError("operation", `${code}: ${message}`, error);
}

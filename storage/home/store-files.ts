/**
 * Checks that the files the write handle has open are still those in the home, and complete. SQLite does not notice when they
 * are not and keeps using deleted files. A problem is recorded in a file beside the store, for the next start. The store's
 * files are never opened here: closing them would drop SQLite's locks.
 *
 * SQLite only: PRAGMA (nothing: the database watches its own files).
 */
import { readFileSync, rmSync, type Stats, statSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import type { Database } from "../sqlite/driver.ts";
import { StorageError } from "../sqlite/storage-error.ts";
import { lacksPages } from "./missing-pages.ts";

const NOTE_SUFFIX = ".problem";

export class StoreFiles {
  readonly #path: string;
  readonly #database: Database;
  readonly #pageBytes: number;
  readonly #identities = new Map<string, string>();
  /** Truncation is permanent: contents are lost even if the same file is put back. */
  #truncated: string | null = null;

  constructor(path: string, database: Database) {
    this.#path = path;
    this.#database = database;
    this.#pageBytes = Number(database.pragma("page_size"));
    for (const file of [path, `${path}-wal`]) {
      const stats = statSync(file, { throwIfNoEntry: false });
      if (stats !== undefined) this.#identities.set(file, identityOf(stats));
    }
  }

  /** The current problem, or null. */
  problem(): string | null {
    // Read first and reported last: a connection that opens an emptied database file deletes the WAL.
    const wal = this.#displaced(`${this.#path}-wal`);
    const displaced = this.#displaced(this.#path);
    if (displaced !== null) return displaced;
    if (this.#truncated === null && lacksPages(this.#path, this.#database, this.#pageBytes))
      this.#truncated = `${this.#path} was truncated while the server runs`;
    return this.#truncated ?? wal;
  }

  /** What happened to one of the files, or null if it is the file that was there at the start. */
  #displaced(file: string): string | null {
    const identity = this.#identities.get(file);
    if (identity === undefined) return null;
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return `${file} was removed or renamed while the server runs`;
    return identityOf(stats) === identity ? null : `${file} was replaced while the server runs`;
  }
}

function identityOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

/** Records the problem for the next start; writing may fail when the disk or the home is gone. */
export function noteProblem(path: string, text: string): void {
  try {
    writeFileSync(`${path}${NOTE_SUFFIX}`, `${text}\n`, { mode: 0o600, flag: "wx" });
  } catch {
    // Recorded before, or not writable.
  }
}

export function clearProblem(path: string): void {
  rmSync(`${path}${NOTE_SUFFIX}`, { force: true });
}

/** @throws StorageError when a server noted that the store was taken away from it. */
export function refuseNoted(path: string): void {
  const note = `${path}${NOTE_SUFFIX}`;
  let text: string;
  try {
    text = readFileSync(note, "utf8").trim();
  } catch {
    return;
  }
  const advice = `Restore a backup with \`millrace restore FILE\`, or put back what was there; to go on with what is in ${basename(path)} now, or with an empty store, remove ${note}`;
  throw new StorageError("corrupt", `the store was taken away from a server: ${text}. ${advice}`);
}

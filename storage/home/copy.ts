/**
 * Copies a store into a single file while a server may be writing; checks the copy and renames it into place only when
 * complete.
 *
 * SQLite only: PRAGMA (nothing: the database makes its own backups), min or max of values (least, greatest).
 */
import { chmodSync, closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { checkFile } from "../invariants/check-store.ts";
import { noteEventGap } from "../load/event-gaps.ts";
import { openReadHandle } from "../read/read-handle.ts";
import { COUNTED } from "../schema/codes.ts";
import { databaseVersion } from "../schema/migrate.ts";
import { type Database, openDriver } from "../sqlite/driver.ts";
import { BUSY_WAIT_MS } from "../sqlite/pragmas.ts";
import { Statements } from "../sqlite/statements.ts";
import { StorageError, toStorageError } from "../sqlite/storage-error.ts";
import { type CounterValues, readCounters } from "../write/counters.ts";
import { clearProblem } from "./store-files.ts";

/** Readable by its owner alone. */
const FILE_MODE = 0o600;
/** The version from which a store records its owner. */
const OWNER_VERSION = 15;
/** Files that SQLite keeps beside a store. */
const SIDE_FILES = ["-wal", "-shm"] as const;

export interface CopyFacts {
  bytes: number;
  runs: number;
  events: number;
  /** Number of secret variables, which are unreadable without the key of their home. */
  secrets: number;
  /** Schema version of the copy. */
  version: number;
}

/**
 * Copies the store to a file that does not exist yet, and checks the copy.
 * @throws StorageError when the source cannot be read or the copy fails the check; then no file is left.
 */
export async function copyStore(from: string, to: string): Promise<CopyFacts> {
  const part = `${to}.${process.pid}.part`;
  try {
    closeSync(openSync(part, "wx", FILE_MODE));
    const source = openReadHandle(from);
    try {
      if (databaseVersion(source) === 0) throw new StorageError("corrupt", `${from} is not a store of Millrace`);
      await source.backup(part);
    } finally {
      source.close();
    }
    const facts = sealCopy(part);
    renameSync(part, to);
    syncFolder(to);
    return facts;
  } catch (error) {
    for (const suffix of ["", ...SIDE_FILES, "-journal"]) rmSync(`${part}${suffix}`, { force: true });
    throw toStorageError(error);
  }
}

/** Turns the copy into one file without a WAL, checks it and syncs it to disk. */
function sealCopy(path: string): CopyFacts {
  const copy = openDriver(path, { readonly: false, busyWaitMs: BUSY_WAIT_MS });
  let facts: CopyFacts;
  try {
    copy.exec("PRAGMA journal_mode = DELETE");
    facts = checkCopy(copy, path);
  } finally {
    copy.close();
  }
  chmodSync(path, FILE_MODE);
  const file = openSync(path, "r");
  fsyncSync(file);
  closeSync(file);
  return facts;
}

function checkCopy(copy: Database, path: string): CopyFacts {
  const [finding] = checkFile(copy);
  if (finding !== undefined) throw new StorageError("corrupt", `the store is damaged: ${finding.text}`);
  const count = (sql: string): number => Number(copy.prepareRaw<[number]>(sql).get()?.[0] ?? 0);
  return {
    bytes: statSync(path).size,
    runs: count("SELECT count(*) FROM runs"),
    events: count("SELECT count(*) FROM events"),
    secrets: count("SELECT count(*) FROM variables WHERE secret = 1"),
    version: databaseVersion(copy),
  };
}

/**
 * Replaces a store that no process has open by a copy. The old store is kept beside it under the name `aside`.
 * @returns true when the old store could be read, so that its ids are not reused.
 */
export function replaceStore(path: string, copy: string, aside: string): boolean {
  const carried = existsSync(path) && carryCounters(path, copy);
  for (const suffix of ["", ...SIDE_FILES]) {
    if (existsSync(`${path}${suffix}`)) linkSync(`${path}${suffix}`, `${aside}${suffix}`);
  }
  syncFolder(aside);
  // The WAL of the old store must never lie beside the new store.
  for (const suffix of SIDE_FILES) rmSync(`${path}${suffix}`, { force: true });
  renameSync(copy, path);
  clearProblem(path);
  syncFolder(path);
  return carried;
}

/**
 * Raises the counters of the copy to those of the old store: engines and clients that still refer to runs missing in the copy
 * then never reach a different run under the same id, and no stream number is reused. The epoch of the owner is raised too.
 */
function carryCounters(path: string, copy: string): boolean {
  try {
    const old = openDriver(path, { readonly: false, busyWaitMs: BUSY_WAIT_MS });
    let given: CounterValues;
    let epoch: number;
    try {
      // Fold the WAL into the file, so that the old store is a single file too.
      old.pragma("wal_checkpoint(TRUNCATE)");
      given = readCounters(new Statements(old));
      // A store of an earlier version has no owner yet.
      epoch = databaseVersion(old) < OWNER_VERSION ? 0 : (old.prepareRaw<[number]>("SELECT epoch FROM members").get()?.[0] ?? 0);
    } finally {
      old.close();
    }
    raiseCounters(copy, given, epoch);
    return true;
  } catch (error) {
    if (["corrupt", "io", "operation"].includes(toStorageError(error).fault)) return false;
    throw error;
  }
}

function raiseCounters(copy: string, given: CounterValues, epoch: number): void {
  const database = openDriver(copy, { readonly: false, busyWaitMs: BUSY_WAIT_MS });
  try {
    const statements = new Statements(database);
    const raise = statements.raw(
      "INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)",
    );
    database.exec("BEGIN");
    noteEventGap(statements, given.events);
    for (const name of COUNTED) raise.run(name, given[name]);
    if (databaseVersion(database) >= OWNER_VERSION) statements.raw("UPDATE members SET epoch = max(epoch, ?)").run(epoch);
    database.exec("COMMIT");
  } finally {
    database.close();
  }
}

function syncFolder(path: string): void {
  const folder = openSync(dirname(path), "r");
  fsyncSync(folder);
  closeSync(folder);
}

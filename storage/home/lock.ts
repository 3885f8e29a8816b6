/**
 * One server per home. The `flock` command locks `db.lock` with flock(2) through a descriptor of this process: the lock
 * belongs to the open file and lasts until the process ends. The home directory is locked too, because it stays the same when
 * `db.lock` is removed. Without the command, an exclusive SQLite lock on a second file serves instead. `db.lock` holds the
 * pid of the server.
 *
 * SQLite only: PRAGMA (a lock of the database).
 */
import { spawnSync } from "node:child_process";
import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Database, driverErrorCode, openDriver } from "../sqlite/driver.ts";

const LOCK_FILE = "db.lock";
const FALLBACK_FILE = "db.lock.sqlite";
const FILE_MODE = 0o600;

/** Exit status of `flock -n` when another process holds the lock; any other failure means that the command failed. */
const HELD = 1;

export interface HomeLock {
  path: string;
  /** Releases the lock, as the end of the process does. */
  release(): void;
}

export class HomeLockedError extends Error {
  /** The process that holds the lock, null if the file holds no pid. */
  readonly pid: number | null;

  constructor(home: string, pid: number | null) {
    super(`another server${pid === null ? "" : ` (pid ${pid})`} uses ${home}`);
    this.name = "HomeLockedError";
    this.pid = pid;
  }
}

export interface LockOptions {
  /** The flock command; null forces the SQLite lock. */
  command?: string | null;
}

/** Locks a home directory; throws HomeLockedError while another process holds the lock. */
export function lockHome(home: string, options: LockOptions = {}): HomeLock {
  const path = join(home, LOCK_FILE);
  const descriptor = openSync(path, "a+", FILE_MODE);
  const taken = options.command === null ? "unavailable" : flock(options.command ?? "flock", descriptor);
  if (taken === "held") {
    closeSync(descriptor);
    throw new HomeLockedError(home, readPid(path));
  }
  const directory = taken === "taken" ? lockDirectory(home, path, descriptor, options.command ?? "flock") : null;
  const fallback = taken === "unavailable" ? lockFallback(home, path, descriptor) : null;
  ftruncateSync(descriptor);
  writeSync(descriptor, `${process.pid}\n`);
  return {
    path,
    release: () => {
      fallback?.close();
      if (directory !== null) closeSync(directory);
      closeSync(descriptor);
    },
  };
}

/**
 * The child inherits the descriptor as its number 3. flock(2) locks belong to the open file, so this process holds the lock
 * too.
 */
function flock(command: string, descriptor: number): "taken" | "held" | "unavailable" {
  const result = spawnSync(command, ["-xn", "3"], { stdio: ["ignore", "ignore", "ignore", descriptor] });
  if (result.error !== undefined) return "unavailable";
  if (result.status === 0) return "taken";
  return result.status === HELD ? "held" : "unavailable";
}

/** Where directories cannot be locked (some network file systems), the lock on the file must suffice. */
function lockDirectory(home: string, path: string, descriptor: number, command: string): number {
  const directory = openSync(home, "r");
  if (flock(command, directory) !== "held") return directory;
  closeSync(directory);
  closeSync(descriptor);
  throw new HomeLockedError(home, readPid(path));
}

function lockFallback(home: string, path: string, descriptor: number): Database {
  const database = openDriver(join(home, FALLBACK_FILE), { readonly: false, busyWaitMs: 0 });
  try {
    database.exec("PRAGMA journal_mode = DELETE");
    database.exec("BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database.close();
    closeSync(descriptor);
    if (driverErrorCode(error)?.startsWith("SQLITE_BUSY") === true) throw new HomeLockedError(home, readPid(path));
    throw error;
  }
}

function readPid(path: string): number | null {
  const pid = Number.parseInt(readFileSync(path, "utf8"), 10);
  return Number.isSafeInteger(pid) && pid > 0 ? pid : null;
}

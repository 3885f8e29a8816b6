/**
 * One server per home. `db.lock` is locked with flock(2), by the `flock` command on our own descriptor: the lock belongs to
 * the open file and stays until our process ends. So is the home itself, which stays the same when somebody removes `db.lock`. Where that command is missing, an exclusive SQLite lock on a file
 * beside it does the same. The file holds the pid of the server.
 */
import { spawnSync } from "node:child_process";
import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Database, driverErrorCode, openDriver } from "./driver.ts";

const LOCK_FILE = "db.lock";
const FALLBACK_FILE = "db.lock.sqlite";
const FILE_MODE = 0o600;

/** Exit status of `flock -n` when another process holds the lock; others mean that the command failed. */
const HELD = 1;

export interface HomeLock {
  path: string;
  /** Gives the lock up; the end of the process does too. */
  release(): void;
}

export class HomeLockedError extends Error {
  /** The process that holds the lock, null when the file doesn't say. */
  readonly pid: number | null;

  constructor(home: string, pid: number | null) {
    super(`another server${pid === null ? "" : ` (pid ${pid})`} uses ${home}`);
    this.name = "HomeLockedError";
    this.pid = pid;
  }
}

export interface LockOptions {
  /** The flock command; null forces the other way. */
  command?: string | null;
}

/** Takes the lock of a home directory; throws HomeLockedError while another process has it. */
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

/** The child gets our descriptor as its number 3; flock(2) locks are of the open file, so ours is locked by it. */
function flock(command: string, descriptor: number): "taken" | "held" | "unavailable" {
  const result = spawnSync(command, ["-xn", "3"], { stdio: ["ignore", "ignore", "ignore", descriptor] });
  if (result.error !== undefined) return "unavailable";
  if (result.status === 0) return "taken";
  return result.status === HELD ? "held" : "unavailable";
}

/** Where directories cannot be locked (some network file systems), the lock of the file has to do. */
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

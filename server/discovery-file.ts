/**
 * The home directory's guard and the discovery file `<home>/server.json`, by which clients and engines find the server.
 * Whoever can write there can lead clients elsewhere, so a home that others can write to is refused, and the file
 * is made under a fresh name and moved into place: a planted link is replaced, never followed.
 */

import {
  chmodSync,
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { ConfigError } from "./config-values.ts";

export const DISCOVERY_FILE = "server.json";

/** What the discovery file says, in its own spelling. It holds no token. */
export interface DiscoveryRecord {
  /** True when requests over TCP need a token. */
  auth: boolean;
  host: string;
  pid: number;
  port: number;
  /** Path of the Unix socket, null without one. */
  socket: string | null;
  /** Start of the server, microseconds since the Unix epoch. */
  started_at: number;
  url: string;
  version: string;
}

/**
 * Makes the home directory (mode 0700) and checks that it is ours alone.
 * @throws ConfigError when it belongs to someone else, others can write to it, or it cannot be made.
 */
export function prepareHome(home: string): void {
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new ConfigError(`cannot make the home directory ${home}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const uid = process.getuid?.();
  const link = lstatSync(home);
  const target = statSync(home);
  if (!target.isDirectory()) throw new ConfigError(`home ${home} is not a directory`);
  if (uid !== undefined && (link.uid !== uid || target.uid !== uid)) {
    throw new ConfigError(`home ${home} belongs to another user: choose one of your own with --home or MILLRACE_HOME`);
  }
  if ((target.mode & 0o002) !== 0) {
    throw new ConfigError(`home ${home} can be written to by everyone: choose another, or make it private with chmod 700`);
  }
  if ((target.mode & 0o777) !== 0o700) chmodSync(home, 0o700);
}

/** Writes the file whole or not at all, readable for the owner only. The home must be prepared. */
export function writeDiscoveryFile(home: string, record: DiscoveryRecord): void {
  const path = join(home, DISCOVERY_FILE);
  const fresh = join(home, `.${DISCOVERY_FILE}.${process.pid}`);
  rmSync(fresh, { force: true });
  const file = openSync(fresh, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  try {
    writeSync(file, `${JSON.stringify(record, null, 2)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(fresh, path);
  const directory = openSync(home, constants.O_RDONLY);
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** Removes the file if it still names the given process; one that a later server wrote stays. */
export function removeDiscoveryFile(home: string, pid: number = process.pid): void {
  const path = join(home, DISCOVERY_FILE);
  try {
    const record: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof record === "object" && record !== null && "pid" in record && record.pid !== pid) return;
  } catch {
    // Missing or unreadable: removing it is right in both cases.
  }
  rmSync(path, { force: true });
}

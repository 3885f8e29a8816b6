/**
 * Protection of the home directory, and the discovery file `<home>/server.json`, by which clients and engines find the
 * server. A user who can write to the home could redirect clients, so a home that others can write to is rejected. The file
 * is written under a new name and renamed into place: a planted link is replaced, never followed.
 */

import {
  chmodSync,
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { ConfigError } from "./config/config-values.ts";
import { foreignFolder } from "./operations/home-files.ts";

export const DISCOVERY_FILE = "server.json";

/** The content of the discovery file, with the names used there. It contains no token. */
export interface DiscoveryRecord {
  /** True when requests over TCP need a token. */
  auth: boolean;
  host: string;
  pid: number;
  port: number;
  /** Path of the Unix socket, or null. */
  socket: string | null;
  /** Start of the server, microseconds since the Unix epoch. */
  started_at: number;
  url: string;
  version: string;
}

/**
 * Creates the home directory (mode 0700) and checks that only this user can write to it.
 * @throws ConfigError when it belongs to another user, others can write to it, it holds files of something else, or it cannot
 * be created.
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
  const foreign = foreignFolder(home);
  if (foreign !== null) throw new ConfigError(foreign);
  if ((target.mode & 0o777) !== 0o700) chmodSync(home, 0o700);
  if (uid !== undefined) refusePlanted(home, uid);
}

/**
 * Before the home became private, its group may have planted links there, which would redirect files that the server writes.
 */
export function refusePlanted(home: string, uid: number): void {
  for (const name of readdirSync(home)) {
    const path = join(home, name);
    const owner = lstatSync(path, { throwIfNoEntry: false })?.uid ?? uid;
    if (owner === uid || owner === 0) continue;
    throw new ConfigError(
      `${path} belongs to another user (${owner}), who may have planted it: look at it and remove it, or make it yours with chown`,
    );
  }
}

/** Writes the file atomically, readable for the owner only. The home must be prepared. */
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

/** Removes the file if it names the given process; a file written by a later server stays. */
export function removeDiscoveryFile(home: string, pid: number = process.pid): void {
  const path = join(home, DISCOVERY_FILE);
  try {
    const record: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof record === "object" && record !== null && "pid" in record && record.pid !== pid) return;
  } catch {
    // Missing or unreadable: remove it in both cases.
  }
  rmSync(path, { force: true });
}

/** Examines a home and its store and reports problems. Changes nothing. */
import { existsSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { secretKeySource } from "#protocol/values/secret-key";
import { systemClock } from "#runtime/clock";
import { HomeLockedError, lockHome } from "#storage/home/lock";
import { SecretBox } from "#storage/home/secret-box";
import { checkStepFiles } from "#storage/home/step-files";
import { checkFile, checkStore, type StoreCheck } from "#storage/invariants/check-store";
import type { Finding } from "#storage/invariants/invariant";
import { storeName } from "#storage/postgres/location";
import { openReadHandle } from "#storage/read/read-handle";
import { databaseVersion } from "#storage/schema/migrate";
import { checkLibrary, libraryVersion } from "#storage/sqlite/pragmas";
import { StorageError } from "#storage/sqlite/storage-error";
import type { NamedStore } from "../config/config.ts";
import { examineDatabase } from "./examine-database.ts";
import { checkHomeFiles, foreignFolder, STORE_FILE } from "./home-files.ts";
import { OperationalError } from "./operational-error.ts";
import { stepFileCheck } from "./step-file-check.ts";

export interface DoctorOptions {
  home: string;
  /** The database of the store; null or absent: the file of the home. */
  database?: NamedStore | null;
  /** Version of the package. */
  version: string;
  /** Totals of resources, if a running server reported them. */
  totals: Readonly<Record<string, number>> | null;
  /** The clock status of a running server; null without one. */
  clock: { problem: string | null } | null;
}

export interface DoctorReport {
  home: string;
  /** The path or the URL of the store, without a password. */
  store: string;
  /** Whether a process holds the lock of the home or of the database; `pid` is null if it is not known. */
  running: boolean;
  pid: number | null;
  /** The session that holds the lock of the database. */
  holder: string | null;
  checks: StoreCheck[];
}

/** With less free space, the store lasts hardly a day of work, and a backup has no room. */
const FREE_BYTES_MIN = 1024 ** 3;
/** A larger WAL was not folded into the store for long: some reader holds an old snapshot. */
const LOG_BYTES_MAX = 256 * 1024 ** 2;

/** @throws OperationalError when the home does not exist, or when its database cannot be examined. */
export function examine({ database = null, ...options }: DoctorOptions): DoctorReport {
  if (database !== null) return examineWithDatabase(options, database.url);
  const { home, version, totals, clock } = options;
  if (!statSync(home, { throwIfNoEntry: false })?.isDirectory()) throw new OperationalError(`there is no home ${home}`);
  const foreign = foreignFolder(home);
  if (foreign !== null) throw new OperationalError(foreign);
  const { running, pid } = lockHolder(home);
  const checks: StoreCheck[] = [homeCheck(home), spaceCheck(home), clockCheck(clock), ...storeChecks(home, version, totals)];
  return { home, store: join(home, STORE_FILE), running, pid, holder: null, checks };
}

/** A database can be examined from a machine that does not have the home of its server. */
function examineWithDatabase({ home, version, totals, clock }: DoctorOptions, url: string): DoctorReport {
  const hasHome = statSync(home, { throwIfNoEntry: false })?.isDirectory() === true;
  const foreign = hasHome ? foreignFolder(home) : null;
  if (foreign !== null) throw new OperationalError(foreign);
  const key = new SecretBox(secretKeySource(home, process.env));
  const { holder, checks } = examineDatabase({
    url,
    home: hasHome ? home : null,
    title: programTitle(version),
    totals,
    open: (sealed) => key.open(sealed),
    nowUs: systemClock.nowUs,
  });
  const files = hasHome ? [homeCheck(home), spaceCheck(home)] : [absentHome(home)];
  const all = [...files, clockCheck(clock), ...checks];
  return { home, store: storeName(url), running: holder !== null, pid: null, holder, checks: all };
}

function absentHome(home: string): StoreCheck {
  const unchecked = `there is no home ${home} here: its files, its key of secrets and large results of steps`;
  return { id: "home", title: "the home and its files are their owner's alone", checked: false, unchecked, findings: [] };
}

function programTitle(version: string): string {
  return `Millrace ${version}, Node ${process.versions.node}`;
}

function lockHolder(home: string): { running: boolean; pid: number | null } {
  try {
    lockHome(home).release();
    return { running: false, pid: null };
  } catch (error) {
    if (error instanceof HomeLockedError) return { running: true, pid: error.pid };
    throw error;
  }
}

function homeCheck(home: string): StoreCheck {
  const findings = checkHomeFiles(home).map((text): Finding => ({ level: "broken", text }));
  return { id: "home", title: "the home and its files are their owner's alone", checked: true, unchecked: null, findings };
}

function spaceCheck(home: string): StoreCheck {
  const { bavail, bsize } = statfsSync(home);
  const findings: Finding[] = [];
  if (bavail * bsize < FREE_BYTES_MIN) findings.push({ level: "unusual", text: `only ${mebibytes(bavail * bsize)} are free` });
  const log = statSync(join(home, `${STORE_FILE}-wal`), { throwIfNoEntry: false })?.size ?? 0;
  if (log > LOG_BYTES_MAX) findings.push({ level: "unusual", text: `the log of the store has ${mebibytes(log)}` });
  return { id: "space", title: "there is room on the disk", checked: true, unchecked: null, findings };
}

function clockCheck(clock: DoctorOptions["clock"]): StoreCheck {
  const findings: Finding[] = clock?.problem == null ? [] : [{ level: "unusual", text: clock.problem }];
  const unchecked = clock === null ? "whether the clock was set: only a running server can say" : null;
  return { id: "clock", title: "the clock of the machine was not set", checked: clock !== null, unchecked, findings };
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2).toLocaleString("en-US")} MiB`;
}

function storeChecks(home: string, version: string, totals: DoctorOptions["totals"]): StoreCheck[] {
  const path = join(home, STORE_FILE);
  const title = programTitle(version);
  if (!existsSync(path)) {
    const findings: Finding[] = [{ level: "unusual", text: "there is no store yet" }];
    return [{ id: "versions", title, checked: true, unchecked: null, findings }];
  }
  const key = new SecretBox(secretKeySource(home, process.env));
  try {
    const database = openReadHandle(path);
    try {
      const library = libraryVersion(database);
      checkLibrary(library);
      const versions = `${title}, SQLite ${library}, store version ${databaseVersion(database)}`;
      const findings = checkFile(database);
      const file: StoreCheck = {
        id: "file",
        title: "every page and index of the store is sound",
        checked: true,
        unchecked: null,
        findings,
      };
      const rows = findings.length > 0 ? [] : checkStore(database, { totals, open: (sealed) => key.open(sealed) });
      const results = findings.length > 0 ? [] : [stepFileCheck(checkStepFiles(home, database))];
      return [{ id: "versions", title: versions, checked: true, unchecked: null, findings: [] }, file, ...rows, ...results];
    } finally {
      database.close();
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const advice = error instanceof StorageError && error.fault === "corrupt" ? "; restore a backup" : "";
    const findings: Finding[] = [{ level: "broken", text: `the store cannot be read: ${error.message}${advice}` }];
    return [{ id: "file", title: "the store can be read", checked: true, unchecked: null, findings }];
  }
}

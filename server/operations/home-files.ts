/** The files of a home: their names and permissions. */
import { lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { quoteForShell } from "#protocol/values/shell-word";

export const STORE_FILE = "db.sqlite";
export const LOCK_FILE = "db.lock";
export const KEY_FILE = "secret.key";

/** Environment variables of the service, which operators create before the first start. */
const SERVICE_FILE = "service.env";

/** Files that identify a folder as a home; the other files of a home have names that are in use elsewhere. */
const MARKS: ReadonlySet<string> = new Set([STORE_FILE, LOCK_FILE, KEY_FILE, SERVICE_FILE]);
/** Exists in the root of a volume from the start. */
const NOT_COUNTED = "lost+found";

const HOME_MODE = 0o700;
const FILE_MODE = 0o600;
const ANYONE_ELSE = 0o077;

/**
 * Why a folder is rejected as a home, or null: it holds files, and none that identifies a home. Using it as a home would lock
 * other users out of their files.
 */
export function foreignFolder(home: string): string | null {
  const names = readdirSync(home).filter((name) => name !== NOT_COUNTED);
  if (names.length === 0 || names.some((name) => MARKS.has(name))) return null;
  return (
    `${home} holds files and is not a home of Millrace: choose a new or an empty folder with --home or MILLRACE_HOME. ` +
    `To make it a home all the same, which shuts other users out of it (mode 0700): touch ${quoteForShell(join(home, LOCK_FILE))}`
  );
}

/** Problems of the home and of each file in it, one line each. */
export function checkHomeFiles(home: string): string[] {
  const uid = process.getuid?.();
  const found: string[] = [];
  const mode = statSync(home).mode & 0o777;
  if (mode !== HOME_MODE) found.push(`${home} has mode ${octal(mode)}: chmod 700 ${home}`);
  for (const name of readdirSync(home)) {
    const path = join(home, name);
    const file = lstatSync(path);
    if (uid !== undefined && file.uid !== uid) found.push(`${path} belongs to another user`);
    if (file.isSymbolicLink()) found.push(`${path} is a link, which Millrace never makes`);
    else if (file.isFile() && (file.mode & ANYONE_ELSE) !== 0) {
      found.push(`${path} can be read by others (mode ${octal(file.mode & 0o777)}): chmod ${octal(FILE_MODE)} ${path}`);
    }
  }
  return found;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(3, "0");
}

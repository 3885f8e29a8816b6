/** The files of a home: their names, and who may read them. */
import { lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

export const STORE_FILE = "db.sqlite";
export const LOCK_FILE = "db.lock";
export const KEY_FILE = "secret.key";

const HOME_MODE = 0o700;
const FILE_MODE = 0o600;
const ANYONE_ELSE = 0o077;

/** What is wrong with the home itself and with each file in it, as one line each. */
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

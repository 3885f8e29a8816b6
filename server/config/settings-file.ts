/**
 * Writes settings changed at run time back into millrace.toml: only the changed values are replaced, so comments, order and
 * everything else stay as written.
 */
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { parse } from "smol-toml";

/** Values by table and key, for example `{ defaults: { retain_days: 7 }, resources: { gpu: 2 } }`. */
export type SettingsChanges = Readonly<Record<string, Readonly<Record<string, number>>>>;

const BARE_KEY = /^[A-Za-z0-9_-]+$/;
const ANY_TABLE = /^\s*\[/;
/** Mode of a new file; an existing file keeps its mode. */
const NEW_FILE_MODE = 0o600;

/** Writes the changes atomically; creates a missing file. Throws when the file cannot be written. */
export function writeSettings(path: string, changes: SettingsChanges): void {
  const before = existsSync(path) ? readFileSync(path, "utf8") : "";
  const after = editSettings(before, changes);
  if (after === before) return;
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? NEW_FILE_MODE;
  const fresh = `${path}.${process.pid}.new`;
  writeFileSync(fresh, after, { mode });
  renameSync(fresh, path);
}

/** The text with the values set. Throws when the file's form does not allow setting them without rewriting more. */
export function editSettings(text: string, changes: SettingsChanges): string {
  let lines = text.trim() === "" ? [] : text.replace(/\n$/, "").split("\n");
  for (const [table, values] of Object.entries(changes)) {
    for (const [key, value] of Object.entries(values)) lines = setValue(lines, table, key, value);
  }
  const edited = lines.length === 0 ? "" : `${lines.join("\n")}\n`;
  const parsed = parse(edited) as Record<string, Record<string, unknown> | undefined>;
  for (const [table, values] of Object.entries(changes)) {
    for (const [key, value] of Object.entries(values)) {
      if (parsed[table]?.[key] !== value) throw new Error(`[${table}] ${key} is written in a form that can't be edited in place`);
    }
  }
  return edited;
}

function setValue(lines: readonly string[], table: string, key: string, value: number): string[] {
  const header = lines.findIndex((line) => isTable(line, table));
  const written = `${BARE_KEY.test(key) ? key : JSON.stringify(key)} = ${value}`;
  if (header === -1) return [...lines, ...(lines.length > 0 ? [""] : []), `[${table}]`, written];
  const following = lines.findIndex((line, index) => index > header && ANY_TABLE.test(line));
  const end = following === -1 ? lines.length : following;
  const at = lines.findIndex((line, index) => index > header && index < end && isKey(line, key));
  if (at !== -1) return lines.with(at, withValue(lines[at] ?? "", value));
  let last = end - 1;
  while (last > header && (lines[last] ?? "").trim() === "") last -= 1;
  return lines.toSpliced(last + 1, 0, written);
}

function isTable(line: string, table: string): boolean {
  return line.replace(/#.*$/, "").replace(/\s/g, "") === `[${table}]`;
}

function isKey(line: string, key: string): boolean {
  const match = /^\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*=/.exec(line);
  if (match?.[1] === undefined) return false;
  const written = match[1];
  if (written.startsWith('"')) return JSON.parse(written) === key;
  return (written.startsWith("'") ? written.slice(1, -1) : written) === key;
}

/** Numbers contain no `#`, so everything from the first `#` on is a comment. */
function withValue(line: string, value: number): string {
  return line.replace(/=\s*[^#]*?(\s*(#.*)?)$/, (_whole, rest: string) => `= ${value}${rest}`);
}

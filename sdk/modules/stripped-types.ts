/**
 * Keeps files of user code without their types, by content: Node strips the types of a file at each import, and loads its
 * compiler for that, which takes longer than everything else that an engine does before its first run.
 *
 * Only what Node itself would do is kept. A file with a type error in its syntax, or that a loader of the user compiles, goes the
 * usual way.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const TYPESCRIPT = /^file:.*\.m?ts$/;
/** What `load` of Node calls a module whose types are still to be stripped. */
const UNSTRIPPED = "module-typescript";
/** Files kept in a home, of 5 KB each; beyond that the oldest are deleted. */
const KEPT_MAX = 1_000;
/** Every home of a server has this file, also where the store is in PostgreSQL. */
const LOCK_FILE = "db.lock";
/** No ending of modules: the home may be in the folder in which flow files are looked for. */
const ENDING = ".stripped";
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Different versions and options of Node may treat the same file differently. */
const RUNTIME = JSON.stringify([process.version, process.versions["amaro"], process.execArgv, process.env["NODE_OPTIONS"]]);

/** @param home directory of this machine's data; nothing is kept if it cannot be written */
export function keepStrippedTypes(home: string): void {
  registerHooks({
    load(url, context, next) {
      if (!TYPESCRIPT.test(url) || url.includes("/node_modules/")) return next(url, context);
      const path = keptPath(home, fileURLToPath(url), context.format);
      const kept = path === null ? null : read(path);
      if (kept !== null) return { format: "module", source: kept, shortCircuit: true };
      const loaded = next(url, context);
      const source = loaded.format === UNSTRIPPED ? withoutTypes(textOf(loaded.source)) : null;
      if (source === null) return loaded;
      if (path !== null) keep(home, path, source);
      return { ...loaded, format: "module", source };
    },
  });
}

function folderIn(home: string): string {
  return join(home, "cache", "stripped");
}

/** Where the stripped form of a file is kept; null if the file cannot be read. */
function keptPath(home: string, path: string, format: string | null | undefined): string | null {
  const source = read(path);
  if (source === null) return null;
  // Without a format, the source decides about the kind of the module.
  const key = createHash("sha256")
    .update(`${RUNTIME}\0${format ?? ""}\0${source}`)
    .digest("hex");
  return join(folderIn(home), `${key}${ENDING}`);
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

function textOf(source: unknown): string {
  return typeof source === "string" ? source : Buffer.from(source as Uint8Array).toString("utf8");
}

/** Null for a file whose import fails: Node then reports the place. */
export function withoutTypes(text: string): string | null {
  const { emitWarning } = process;
  // Node warns that the function, not the stripping, is experimental; users cannot do anything about it.
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(text);
  } catch {
    return null;
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Another engine may read the file at this moment, so it appears complete. */
function keep(home: string, path: string, source: string): void {
  const folder = folderIn(home);
  try {
    // An engine on another host may have no home, and must not put files where a home may be made later.
    if (!existsSync(join(home, LOCK_FILE))) return;
    mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
    const fresh = `${path}.${process.pid}`;
    writeFileSync(fresh, source, { mode: FILE_MODE });
    renameSync(fresh, path);
    trim(folder);
  } catch {
    // The next engine strips the types again.
  }
}

function trim(folder: string): void {
  const names = readdirSync(folder);
  if (names.length <= KEPT_MAX) return;
  const aged = names.map((name) => ({ name, ms: statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }));
  const oldest = aged.toSorted((a, b) => a.ms - b.ms).slice(0, names.length - KEPT_MAX);
  for (const { name } of oldest) rmSync(join(folder, name), { force: true });
}

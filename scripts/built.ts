/**
 * The compiled package in dist/, compiled once for each state of its sources. Tests and checks run servers and commands from
 * it, because they start several times faster than from source.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openDriver } from "#storage/sqlite/driver";
import { PACKAGED_FOLDERS } from "./package-contents.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const COMPILER = fileURLToPath(new URL("./compile.ts", import.meta.url));
const CACHE = join(ROOT, "node_modules/.cache/millrace");
/** Holds the key of the sources from which dist/ was compiled. */
const KEY_FILE = join(CACHE, "compiled");
/** What the compilation reads; the lock file stands for all libraries. */
const INPUTS = [...PACKAGED_FOLDERS.map((folder) => `${folder}/**/*`), "scripts/*.ts", "package*.json", "tsconfig*.json"];
/** A compilation takes some ten seconds, and far longer on a machine under load. */
const COMPILE_MAX_MS = 600_000;

/** The compiled package. */
export const BUILT = join(ROOT, "dist");

/** Compiles where the sources have changed since the last compilation; concurrent callers wait for the first. */
export function ensureBuilt(): void {
  const key = sourceKey();
  if (isBuilt(key)) return;
  mkdirSync(CACHE, { recursive: true });
  // A lock of SQLite ends with its process, however that ends.
  const lock = openDriver(join(CACHE, "compile.lock"), { readonly: false, busyWaitMs: COMPILE_MAX_MS });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    if (!isBuilt(key)) compile(key);
  } finally {
    lock.close();
  }
}

function isBuilt(key: string): boolean {
  return existsSync(join(BUILT, "cli/main.js")) && existsSync(KEY_FILE) && readFileSync(KEY_FILE, "utf8") === key;
}

function compile(key: string): void {
  rmSync(KEY_FILE, { force: true });
  const { status } = spawnSync(process.execPath, ["--conditions=millrace-src", COMPILER, BUILT], { stdio: "inherit" });
  if (status !== 0) throw new Error("the compilation failed");
  const command = join(BUILT, "cli/main.js");
  if (!readFileSync(command, "utf8").startsWith("#!/usr/bin/env node\n")) throw new Error(`${command} has no #! line`);
  chmodSync(command, 0o755);
  writeFileSync(KEY_FILE, key);
}

function sourceKey(): string {
  const hash = createHash("sha256");
  hash.update(JSON.stringify([process.version, process.platform, process.arch, process.env["MILLRACE_PLATFORMS"]]));
  const files = globSync(INPUTS, { cwd: ROOT, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const path of files.map(({ parentPath, name }) => join(parentPath, name)).sort())
    hash.update(`${path}\0`).update(readFileSync(path)).update("\0");
  return hash.digest("hex");
}

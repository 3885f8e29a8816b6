/**
 * `npm run build`: compiles the package into an empty dist/, builds the dashboard and makes the command line executable. The
 * package runs this output without any condition; the sources are for development only.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const COMPILER = fileURLToPath(new URL("./compile.ts", import.meta.url));
const OUT = join(ROOT, "dist");
const COMMAND = join(OUT, "cli/main.js");

/** Runs one step of the build in a separate process. */
function run(what: string, args: readonly string[]): void {
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status !== 0) throw new Error(`${what} failed`);
}

function buildDashboard(): void {
  const vite = join(dirname(createRequire(import.meta.url).resolve("vite/package.json")), "bin/vite.js");
  run("the build of the dashboard", [vite, "build", join(ROOT, "dashboard"), "--logLevel", "warn"]);
}

function makeExecutable(): void {
  if (!readFileSync(COMMAND, "utf8").startsWith("#!/usr/bin/env node\n")) throw new Error(`${COMMAND} has no #! line`);
  chmodSync(COMMAND, 0o755);
}

rmSync(OUT, { recursive: true, force: true });
run("the compilation", ["--conditions=millrace-src", COMPILER, OUT]);
buildDashboard();
makeExecutable();

/**
 * `npm run build`: compiles the package into dist/, from nothing, builds the dashboard and makes the command line executable.
 * The package runs what is here without any condition; the sources are for development only.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, globSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { PACKAGED_FOLDERS } from "./package-contents.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const OUT = join(ROOT, "dist");
const COMMAND = join(OUT, "cli/main.js");

function compile(): void {
  const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  const { status } = spawnSync(process.execPath, [compiler, "-p", join(ROOT, "tsconfig.build.json")], { stdio: "inherit" });
  if (status !== 0) throw new Error("the compiler found errors");
}

/** What the code reads at run time beside its modules. */
function copyOtherFiles(): void {
  for (const folder of PACKAGED_FOLDERS) {
    for (const path of globSync("**/*", { cwd: join(ROOT, folder), withFileTypes: true })) {
      if (!path.isFile() || /\.(ts|tsx|md)$/.test(path.name)) continue;
      const source = join(path.parentPath, path.name);
      cpSync(source, join(OUT, source.slice(ROOT.length)));
    }
  }
}

function buildDashboard(): void {
  const vite = join(dirname(createRequire(import.meta.url).resolve("vite/package.json")), "bin/vite.js");
  const args = [vite, "build", join(ROOT, "dashboard"), "--logLevel", "warn"];
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status !== 0) throw new Error("the dashboard was not built");
}

function makeExecutable(): void {
  if (!readFileSync(COMMAND, "utf8").startsWith("#!/usr/bin/env node\n")) throw new Error(`${COMMAND} has no #! line`);
  chmodSync(COMMAND, 0o755);
}

rmSync(OUT, { recursive: true, force: true });
compile();
copyOtherFiles();
buildDashboard();
makeExecutable();

/**
 * `npm run build`: compiles the package into an empty dist/ and builds the dashboard. The package runs this output without any
 * condition; the sources are for development only.
 */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { BUILT, ensureBuilt } from "./built.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

function buildDashboard(): void {
  const vite = join(dirname(createRequire(import.meta.url).resolve("vite/package.json")), "bin/vite.js");
  const args = [vite, "build", join(ROOT, "dashboard"), "--logLevel", "warn"];
  if (spawnSync(process.execPath, args, { stdio: "inherit" }).status !== 0) throw new Error("the build of the dashboard failed");
}

rmSync(BUILT, { recursive: true, force: true });
ensureBuilt();
buildDashboard();

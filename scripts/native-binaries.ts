/**
 * Copies the files that native libraries load at run time beside each library's bundle: a library's package holds the
 * binaries of all platforms and versions of Node (170 MB), of which a machine needs two.
 */
import { cpSync, existsSync, globSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { LIBRARIES_FOLDER, PREBUILDS_FOLDER } from "./package-contents.ts";

/**
 * Platforms that get uWebSockets.js, for example `linux-x64,darwin-arm64`; by default the platform that builds. On other
 * platforms, and on Node later than 22, the gateway uses node:http.
 */
const PLATFORMS_VARIABLE = "MILLRACE_PLATFORMS";

/** NODE_MODULE_VERSION of Node 22, the only version that has a binary and runs the package. */
const NODE_22 = 127;

/** The store's driver has no fallback: include all platforms that the package runs on, with both C libraries. */
const DRIVER_PLATFORMS = /^(linux|linuxmusl|darwin)-(x64|arm64)\.node$/;

export function copyNativeBinaries(root: string, out: string): void {
  const { resolve } = createRequire(join(root, "package.json"));
  copyDriver(dirname(resolve("better-sqlite3/package.json")), join(out, PREBUILDS_FOLDER));
  const asked = process.env[PLATFORMS_VARIABLE] ?? `${process.platform}-${process.arch}`;
  for (const platform of asked.split(",")) copyServerLibrary(root, platform.trim(), join(out, LIBRARIES_FOLDER, "bin"));
}

function copyDriver(home: string, into: string): void {
  mkdirSync(into, { recursive: true });
  const binaries = globSync("*.node", { cwd: join(home, "prebuilds") }).filter((name) => DRIVER_PLATFORMS.test(name));
  if (binaries.length !== 6) throw new Error(`better-sqlite3 has other binaries than expected: ${binaries.join(", ")}`);
  for (const name of binaries) cpSync(join(home, "prebuilds", name), join(into, name));
}

function copyServerLibrary(root: string, platform: string, into: string): void {
  const from = join(root, "node_modules/uWebSockets.js/dist/bin");
  const name = `uws_${platform.replace("-", "_")}_${NODE_22}.node`;
  mkdirSync(into, { recursive: true });
  if (existsSync(join(from, name))) return cpSync(join(from, name), join(into, name));
  // Without a binary for this machine, the package is still built; a missing platform that was requested by name is an error.
  if (process.env[PLATFORMS_VARIABLE] === undefined) return;
  const known = globSync(`*_${NODE_22}.node`, { cwd: from }).map((file) => file.split("_").slice(1, 3).join("-"));
  throw new Error(`${PLATFORMS_VARIABLE} names "${platform}"; uWebSockets.js has binaries for ${known.join(", ")}`);
}

/** What the compiler of a user says to the packed declarations. */
import { execFileSync } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";

/** Ways to find modules, each with the libraries of the language that the compiler takes by default (those of browsers included). */
const SETTINGS = [
  ["--module", "node16", "--moduleResolution", "node16"],
  ["--module", "nodenext", "--moduleResolution", "nodenext"],
  ["--module", "esnext", "--moduleResolution", "bundler"],
  ["--module", "nodenext", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"],
];

/**
 * The uses in test/unit/typed-use.ts compile as they say, strictly and with every declaration checked, where nothing is installed but the package;
 * and without the libraries of browsers, where those of Node are installed.
 */
export function checkTypes(root: string, folder: string): void {
  cpSync(join(root, "test/unit/typed-use.ts"), join(folder, "typed-use.ts"));
  const node = ["--module", "nodenext", "--lib", "es2024", "--types", "node", "--typeRoots", join(root, "node_modules/@types")];
  const fixed = ["--noEmit", "--strict", "--target", "es2024", "--allowImportingTsExtensions", "--ignoreConfig"];
  for (const setting of [...SETTINGS, node]) {
    const args = [join(root, "node_modules/typescript/bin/tsc"), ...fixed, ...setting, "typed-use.ts", "flows/doubling.ts"];
    execFileSync(process.execPath, args, { cwd: folder, stdio: "inherit" });
  }
}

/** Every entry of the packed file gives its types to whoever imports it. */
export function checkEntries(root: string, packed: string): void {
  const args = [join(root, "node_modules/@arethetypeswrong/cli/dist/index.js"), packed, "--profile", "esm-only", "--no-color"];
  execFileSync(process.execPath, args, { stdio: "inherit" });
}

/** Checks the packed declarations with a user's compiler. */
import { execFileSync } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";

/** Module resolution modes, each with the compiler's default libraries (including those of browsers). */
const SETTINGS = [
  ["--module", "node16", "--moduleResolution", "node16"],
  ["--module", "nodenext", "--moduleResolution", "nodenext"],
  ["--module", "esnext", "--moduleResolution", "bundler"],
  ["--module", "nodenext", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"],
];

/**
 * Checks that the uses in test/unit/sdk/typed-use.ts compile as they state, in strict mode with every declaration checked: with
 * only the package installed; and without the browser libraries, with those of Node.
 */
export function checkTypes(root: string, folder: string): void {
  cpSync(join(root, "test/unit/sdk/typed-use.ts"), join(folder, "typed-use.ts"));
  const node = ["--module", "nodenext", "--lib", "es2024", "--types", "node", "--typeRoots", join(root, "node_modules/@types")];
  const fixed = ["--noEmit", "--strict", "--target", "es2024", "--allowImportingTsExtensions", "--ignoreConfig"];
  for (const setting of [...SETTINGS, node]) {
    const args = [join(root, "node_modules/typescript/bin/tsc"), ...fixed, ...setting, "typed-use.ts", "flows/doubling.ts"];
    execFileSync(process.execPath, args, { cwd: folder, stdio: "inherit" });
  }
}

/** Every entry of the packed file provides types. */
export function checkEntries(root: string, packed: string): void {
  const args = [join(root, "node_modules/@arethetypeswrong/cli/dist/index.js"), packed, "--profile", "esm-only", "--no-color"];
  execFileSync(process.execPath, args, { stdio: "inherit" });
}

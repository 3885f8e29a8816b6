/**
 * `node --conditions=millrace-src scripts/compile.ts OUT`: compiles the package's modules into a folder as users run them,
 * each library as one file. The folder is the `dist` beside a package.json like the repository's.
 */
import { spawnSync } from "node:child_process";
import { cpSync, globSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleLibraries } from "./bundle-libraries.ts";
import { copyNativeBinaries } from "./native-binaries.ts";
import { packDeclarations } from "./pack-declarations.ts";
import { LIBRARIES_FOLDER, PACKAGED_FOLDERS, PREBUILDS_FOLDER } from "./package-contents.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

function compile(out: string): void {
  const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  const args = [compiler, "-p", join(ROOT, "tsconfig.build.json"), "--outDir", out];
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status !== 0) throw new Error("the compiler found errors");
}

/** Copies files that the code reads at run time. */
function copyOtherFiles(out: string): void {
  for (const folder of PACKAGED_FOLDERS) {
    for (const path of globSync("**/*", { cwd: join(ROOT, folder), withFileTypes: true })) {
      if (!path.isFile() || /\.(ts|tsx|md)$/.test(path.name)) continue;
      const source = join(path.parentPath, path.name);
      cpSync(source, join(out, source.slice(ROOT.length)));
    }
  }
}

const [, , folder] = process.argv;
if (folder === undefined) throw new Error("which folder to compile into: scripts/compile.ts OUT");
const out = resolve(folder);
for (const part of [...PACKAGED_FOLDERS, LIBRARIES_FOLDER, PREBUILDS_FOLDER])
  rmSync(join(out, part), { recursive: true, force: true });
compile(out);
packDeclarations(ROOT, out);
copyOtherFiles(out);
await bundleLibraries(ROOT, out);
copyNativeBinaries(ROOT, out);

/**
 * Keeps only the compiled declarations that the package's users can reach, and makes their imports relative: the package.json
 * files that bundle-libraries.ts puts into the folders hide our import names (`#protocol/records/run`) from the compiler as they do
 * from Node.
 */
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { PACKAGED_FOLDERS } from "./package-contents.ts";

/** Imports in a declaration. */
const IMPORT = /\b(from |import |import\()"([^"]+)"/g;

interface Exports {
  exports: Record<string, string | { types?: string }>;
}

/** @param root of the repository; `out` holds the compiled declarations */
export function packDeclarations(root: string, out: string): void {
  const reached = new Set<string>();
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Exports;
  for (const entry of Object.values(exports)) {
    if (typeof entry === "object" && entry.types !== undefined) reached.add(posix.relative("dist", entry.types));
  }
  // Iterating over a set also visits entries added during the iteration.
  for (const path of reached) {
    for (const imported of importRelatively(out, path)) reached.add(imported);
  }
  for (const folder of PACKAGED_FOLDERS) {
    for (const path of globSync(`${folder}/**/*.d.ts`, { cwd: out })) if (!reached.has(path)) rmSync(join(out, path));
  }
}

/** Returns the declarations that this one imports. */
function importRelatively(out: string, path: string): string[] {
  const imported: string[] = [];
  const folder = dirname(path);
  const text = readFileSync(join(out, path), "utf8").replace(IMPORT, (whole, lead: string, name: string) => {
    if (!/^[#.]/.test(name)) return whole;
    const module = name.startsWith("#") ? name.slice(1) : posix.join(folder, name).replace(/\.ts$/, "");
    imported.push(`${module}.d.ts`);
    const relative = posix.relative(folder, module);
    return `${lead}"${relative.startsWith(".") ? relative : `./${relative}`}.js"`;
  });
  writeFileSync(join(out, path), text);
  return imported;
}

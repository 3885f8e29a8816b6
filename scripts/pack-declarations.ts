/**
 * Leaves of the compiled declarations those that the package's users can reach, and makes their imports relative: the packages.json
 * that bundle-libraries.ts puts into the folders end the compiler's way to the names of ours (`#protocol/run`) as they do for Node.
 */
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { PACKAGED_FOLDERS } from "./package-contents.ts";

/** How a declaration names what it imports. */
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
  // A set's iteration goes on to what is added meanwhile.
  for (const path of reached) {
    for (const imported of importRelatively(out, path)) reached.add(imported);
  }
  for (const folder of PACKAGED_FOLDERS) {
    for (const path of globSync(`${folder}/**/*.d.ts`, { cwd: out })) if (!reached.has(path)) rmSync(join(out, path));
  }
}

/** Gives the declarations that this one imports. */
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

/** The files of this repository for the checks of this folder. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readSourceText } from "./source-text.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Folders from which the package is built. */
export const PRODUCT_FOLDERS = ["runtime", "system", "protocol", "storage", "actors", "gateway", "server", "sdk", "cli"] as const;
/** Code that runs in the browser, bundled by the dashboard's build. */
const BROWSER_FOLDER = "dashboard";
const OTHER_FOLDERS = ["examples", "scripts", "test"] as const;

export interface SourceFile {
  /** Relative to the repository root, with forward slashes. */
  path: string;
  folder: string;
  text: string;
  code: string;
  bare: string;
}

function readSource(path: string): SourceFile {
  const text = readText(path);
  return { path, folder: path.slice(0, path.indexOf("/")), text, ...readSourceText(text) };
}

/** Every module of the repository. */
export const SOURCES: readonly SourceFile[] = [...PRODUCT_FOLDERS, BROWSER_FOLDER, ...OTHER_FOLDERS]
  .flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx}`, { cwd: ROOT }))
  .sort()
  .map(readSource);

export const PRODUCT: readonly SourceFile[] = SOURCES.filter(({ folder }) =>
  ([...PRODUCT_FOLDERS, BROWSER_FOLDER] as readonly string[]).includes(folder),
);

/** Every text file of the repository: sources, documents and settings. */
export const TEXTS: readonly string[] = [
  ...SOURCES.map(({ path }) => path),
  ...globSync(["*.md", "*.json", "LICENSE", ".taprc", ".gitignore", ".ci/*", "docs/**/*.md", "*/**/*.md", "dashboard/**/*.css"], {
    cwd: ROOT,
    exclude: (path) => path === "node_modules" || path === "dist" || path.startsWith("node_modules/") || path.startsWith("dist/"),
  }).filter((path) => !/^(node_modules|dist|\.tap)\//.test(path) && /\.\w+$|^LICENSE$|^\.ci\/\w+$/.test(path)),
];

export function readText(path: string): string {
  return readFileSync(`${ROOT}${path}`, "utf8");
}

export function fileExists(path: string): boolean {
  return existsSync(`${ROOT}${path}`);
}

export function pathsOf(pattern: string): string[] {
  return globSync(pattern, { cwd: ROOT }).sort();
}

/** The line (from 1) at an offset. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

/** `path:line: text` for each match in one form of the files. */
export function findAll(files: readonly SourceFile[], pattern: RegExp, form: "text" | "code" | "bare" = "bare"): string[] {
  const found: string[] = [];
  for (const file of files) {
    for (const match of file[form].matchAll(pattern)) {
      const line = lineAt(file.text, match.index);
      found.push(`${file.path}:${line}: ${file.text.split("\n")[line - 1]?.trim() ?? ""}`);
    }
  }
  return found;
}

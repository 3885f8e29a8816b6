/** Imports between files, read from their text. */
import { posix } from "node:path";
import { fileExists, lineAt, SOURCES, type SourceFile } from "./sources.ts";

export interface Import {
  /** The specifier as written. */
  name: string;
  /** The repository file that it resolves to; null for packages and missing files. */
  target: string | null;
  line: number;
  kind: "value" | "type" | "dynamic";
}

const STATIC = /(?:^|\n)\s*(?:import|export)\s+(?:(type)\s+)?(?:[\w*{][^"';]*?\bfrom\s*)?"([^"\n]+)"/g;
const DYNAMIC = /\bimport\(\s*"([^"\n]+)"\s*\)/g;
/** Modules started by URL: threads, child processes. The text after `${` is their ending or one of several names. */
const BY_ADDRESS = /\bnew URL\(\s*["`](\.[^"`$]*)(\$\{)?/g;

const known = new Map<string, readonly Import[]>();

export function importsOf(file: SourceFile): readonly Import[] {
  const before = known.get(file.path);
  if (before !== undefined) return before;
  const imports: Import[] = [];
  const add = (written: string, offset: number, kind: Import["kind"]): void => {
    // The part after a question mark is for Vite's bundling.
    const name = written.replace(/\?.*$/, "");
    imports.push({ name, target: resolve(file.path, name), line: lineAt(file.code, offset), kind });
  };
  for (const match of file.code.matchAll(STATIC))
    add(match[2] ?? "", match.index + match[0].length, match[1] === undefined ? "value" : "type");
  for (const match of file.code.matchAll(DYNAMIC))
    add(match[1] ?? "", match.index, isTypeQuery(file.code, match.index) ? "type" : "dynamic");
  known.set(file.path, imports);
  return imports;
}

/** Files that run because this file does, however it references them. */
export function reachedFrom(file: SourceFile): string[] {
  const reached = importsOf(file).flatMap(({ target }) => (target === null ? [] : [target]));
  for (const match of file.code.matchAll(BY_ADDRESS)) {
    const path = posix.join(posix.dirname(file.path), match[1] ?? "");
    const whole = path.endsWith(".ts") ? path : `${path}.ts`;
    // The text after `${` is an ending, or the rest of one of several names.
    if (fileExists(whole)) reached.push(whole);
    else if (match[2] !== undefined)
      reached.push(...SOURCES.filter((other) => other.path.startsWith(path)).map((other) => other.path));
  }
  return reached;
}

/** `typeof import("x")` and `import("x").Type` load nothing. */
function isTypeQuery(code: string, offset: number): boolean {
  return (
    /\btypeof\s*$/.test(code.slice(Math.max(0, offset - 20), offset)) ||
    /^import\([^)]*\)\.[A-Z]/.test(code.slice(offset, offset + 200))
  );
}

function resolve(from: string, name: string): string | null {
  const path = name.startsWith("#") ? `${name.slice(1)}.ts` : name.startsWith(".") ? posix.join(posix.dirname(from), name) : null;
  return path !== null && fileExists(path) ? path : null;
}

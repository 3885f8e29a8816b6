/** Where keys stand in a TOML text: the parser does not report the lines of what it has read. */

/** A key of TOML, bare or quoted. */
const KEY = String.raw`(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')`;
const HEADER = new RegExp(String.raw`^\s*\[\s*(${KEY}(?:\s*\.\s*${KEY})*)\s*\]`);
const ASSIGNMENT = new RegExp(String.raw`^\s*(${KEY}(?:\s*\.\s*${KEY})*)\s*=`);

/** The line of a key, from 1: of `path` itself, else of the nearest table around it; null if none of them is found. */
export function lineOf(text: string, path: readonly string[]): number | null {
  let table: string[] = [];
  let best: { line: number; length: number } | null = null;
  for (const [at, line] of text.split("\n").entries()) {
    const header = HEADER.exec(line)?.[1];
    if (header !== undefined) table = partsOf(header);
    const key = ASSIGNMENT.exec(line)?.[1];
    const here = header !== undefined ? table : key !== undefined ? [...table, ...partsOf(key)] : null;
    if (here === null) continue;
    // A dotted key below the path begins what the path names.
    const length = Math.min(here.length, path.length);
    if (!path.slice(0, length).every((part, index) => part === here[index])) continue;
    if (best === null || length > best.length) best = { line: at + 1, length };
  }
  return best?.line ?? null;
}

function partsOf(dotted: string): string[] {
  return Array.from(dotted.matchAll(new RegExp(KEY, "g")), ([part]) => {
    if (part.startsWith('"')) return unescaped(part);
    return part.startsWith("'") ? part.slice(1, -1) : part;
  });
}

function unescaped(part: string): string {
  try {
    return JSON.parse(part) as string;
  } catch {
    return part.slice(1, -1);
  }
}

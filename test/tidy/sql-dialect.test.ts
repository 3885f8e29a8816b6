/**
 * SQL that only SQLite knows stands with a comment `SQLite only: NAME (the portable form), NAME (...)` in its file, so that a
 * second store has a list of its differences.
 */
import t from "tap";
import { PRODUCT, type SourceFile } from "./sources.ts";

/** What only SQLite knows, or does in its own way, by the name in the comments. */
const CONSTRUCTS: Readonly<Record<string, RegExp>> = {
  "INSERT OR": /\b(?:INSERT|UPDATE) OR \w+|\bREPLACE INTO\b/,
  "INDEXED BY": /\bINDEXED BY\b/,
  "NOT INDEXED": /\bNOT INDEXED\b/,
  "CROSS JOIN": /\bCROSS JOIN\b/,
  "WITHOUT ROWID": /\bWITHOUT ROWID\b/,
  rowid: /\b(?:rowid|oid|_rowid_)\b/,
  "upsert without target": /\bON CONFLICT DO UPDATE\b/,
  "LIMIT -1": /\bLIMIT -1\b/,
  "null-safe IS": /\bIS (?:NOT )?(?!NOT\b|NULL\b|TRUE\b|FALSE\b|DISTINCT\b)[\w?]/,
  PRAGMA: /\bPRAGMA\b|\.pragma\(/,
  VACUUM: /\bVACUUM\b/i,
  "BEGIN IMMEDIATE": /\bBEGIN IMMEDIATE\b/,
  sqlite_schema: /\bsqlite_(?:schema|master|sequence|stat\d)\b/,
  json_each: /\bjson_(?:each|tree)\b/,
  json_extract: /\bjson_extract\b|->>?\s*'/,
  json_group_object: /\bjson_group_\w+\b/,
  group_concat: /\bgroup_concat\b/,
  instr: /\binstr\(/,
  zeroblob: /\bzeroblob\b/,
  "min or max of values": /(?<![.\w])(?:min|max)\(\s*(?:[^(),]|\([^()]*\))+,/,
  LIKE: /\bLIKE\b/,
  GLOB: /\bGLOB\b/,
  "CAST of bytes": /\bCAST\(.* AS TEXT\)/,
  "date functions": /\b(?:unixepoch|strftime|julianday)\b/,
  iif: /\biif\(/,
  "literal of bytes": /[^\w]x'[0-9a-f]*'/i,
  BLOB: /\bBLOB\b/,
  "? IS NULL": /\? IS (?:NOT )?NULL\b/,
};

/** All SQL outside sqlite/ and postgres/, which are about one database each; templates are another language. */
const FILES = PRODUCT.filter(({ path }) => /^storage\/(?!sqlite\/|postgres\/|templates\/)/.test(path));

/** Quoted text of a file: SQL is always quoted. */
function quotedText({ code, bare }: SourceFile): string {
  let text = "";
  for (let at = 0; at < code.length; at += 1) text += code[at] === bare[at] && code[at] !== "\n" ? " " : code[at];
  return text;
}

function comments({ text, code }: SourceFile): string {
  let found = "";
  for (let at = 0; at < text.length; at += 1) found += code[at] === text[at] && text[at] !== "\n" ? " " : text[at];
  return found.replace(/\s*\n\s*(?:\/\/|\/?\*+(?!\/))?\s*/g, " ");
}

/** The constructs that the comments of a file name, each with its portable form. */
function noted(file: SourceFile): string[] {
  const notes = [...comments(file).matchAll(/SQLite only: (.*?)(?=\.(?:\s|$)|\*\/)/g)].map(([, note]) => note ?? "");
  return Object.keys(CONSTRUCTS).filter((name) => notes.some((note) => `, ${note}`.includes(`, ${name} (`)));
}

t.test("SQL that only SQLite knows has a comment with its portable form", async (t) => {
  t.ok(FILES.length > 0);
  const found: string[] = [];
  for (const file of FILES) {
    const quoted = quotedText(file);
    const names = noted(file);
    for (const [name, pattern] of Object.entries(CONSTRUCTS)) {
      const used = pattern.test(quoted) || (name === "PRAGMA" && pattern.test(file.bare));
      if (used && !names.includes(name)) found.push(`${file.path}: "SQLite only: ${name} (its portable form)" is missing`);
      if (!used && names.includes(name)) found.push(`${file.path} has no ${name}: its comment is out of date`);
    }
  }
  t.same(found, []);
});

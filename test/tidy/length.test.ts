import t from "tap";
import { SOURCES, type SourceFile } from "./sources.ts";

/** A longer file has more than one role. Tests may list more cases. */
const FILE_LINES_MAX = 500;
const TEST_LINES_MAX = 800;
/** Lines of one function, from its head to its closing brace. */
const FUNCTION_LINES_MAX = 70;
const MEDIAN_LINES_MAX = 150;

interface LongFunction {
  line: number;
  lines: number;
}

/** Lines that end in a brace but start no function. */
const NO_FUNCTION =
  /^\s*(?:export |default |declare |abstract )*(?:class|interface|type|enum|if|for|while|switch|else|try|do|import|export \{)\b/;
/** The end of a line that opens a function: a parameter list with an optional result type, or an arrow. */
const FUNCTION_HEAD = /(?:=>|\)(?::\s*[^;={}]+(?:\{[^{}]*\})?[^;={}]*)?)\s*\{$/;

/**
 * Functions by indentation, which the formatter guarantees: a head ends in a brace; the first later line with the same
 * indentation that starts with a brace ends the function.
 */
function longFunctions(file: SourceFile): LongFunction[] {
  const lines = file.bare.split("\n");
  const found: LongFunction[] = [];
  for (const [index, line] of lines.entries()) {
    if (!FUNCTION_HEAD.test(line) || NO_FUNCTION.test(line)) continue;
    const indent = /^\s*/.exec(line)?.[0] ?? "";
    const end = lines.findIndex((other, at) => at > index && other.startsWith(`${indent}}`));
    if (end === -1) continue;
    const body = lines.slice(index + 1, end);
    // A group of tests is a list, not a function to be understood as a whole.
    if (body.some((inner) => /\bt\.test\(/.test(inner))) continue;
    const count = body.length + 2;
    if (count > FUNCTION_LINES_MAX) found.push({ line: index + 1, lines: count });
  }
  return found;
}

t.test("no file is longer than its kind may be", async (t) => {
  const found = SOURCES.flatMap(({ path, text }) => {
    const max = path.startsWith("test/") ? TEST_LINES_MAX : FILE_LINES_MAX;
    const lines = text.split("\n").length - 1;
    return lines > max ? [`${path} has ${lines} lines, at most ${max} are allowed`] : [];
  });
  t.same(found, []);
});

t.test("half of the product's files are short", async (t) => {
  const lengths = SOURCES.filter(({ path }) => !path.startsWith("test/"))
    .map(({ text }) => text.split("\n").length - 1)
    .sort((a, b) => a - b);
  t.ok((lengths[lengths.length >> 1] ?? 0) < MEDIAN_LINES_MAX);
});

t.test("no function is longer than a screen", async (t) => {
  const found = SOURCES.flatMap((file) =>
    longFunctions(file).map(({ line, lines }) => `${file.path}:${line} has ${lines} lines`),
  );
  t.same(found, [], `at most ${FUNCTION_LINES_MAX} lines`);
});

t.test("the check of functions sees one that is too long", async (t) => {
  const body = Array.from({ length: FUNCTION_LINES_MAX }, () => "  work();").join("\n");
  const text = `export function long(\n  a: number,\n): void {\n${body}\n}\n`;
  t.match(longFunctions({ path: "", folder: "", text, code: text, bare: text }), [{ line: 3, lines: FUNCTION_LINES_MAX + 2 }]);
});

import t, { type Test } from "tap";
import { findAll, SOURCES } from "./sources.ts";

async function expectNone(t: Test, found: readonly string[], reason: string): Promise<void> {
  t.same(found, [], reason);
}

t.test("no any", (t) => expectNone(t, findAll(SOURCES, /(?<=[:<,|&(]\s*|\bas\s+|=>\s*)\bany\b(?!\s*[:(=.])/g), "any"));

t.test("no non-null assertions", (t) =>
  expectNone(t, findAll(SOURCES, /(?<=[\w\])])!(?=[.;,)\]}[(]|\s*$|\s+(?:as|[+\-*/<>&|?]))/gm), "non-null assertion"),
);

t.test("handlers get the body of a command by its type", (t) =>
  expectNone(
    t,
    findAll(
      SOURCES.filter(({ folder }) => folder === "actors"),
      /\bbody\s+as\b|\bas\s+Command\b/g,
    ),
    "cast of a command or its body",
  ),
);

const STORE_AND_DECISIONS = SOURCES.filter(({ folder }) => folder === "actors" || folder === "storage");
const OPERATIONS_FILE = "storage/write/ops.ts";

t.test("row operations are written and read by the names of their columns", async (t) => {
  const elsewhere = STORE_AND_DECISIONS.filter(({ path }) => path !== OPERATIONS_FILE);
  await expectNone(t, findAll(elsewhere, /\bops\.push\(/g), "values of an operation by position");
  await expectNone(t, findAll(elsewhere, /\b(?:ops|values)\[at \+ \d|\b(?:ops|values)\.slice\(at, at \+ \d/g), "position");
  const casts = elsewhere.filter(({ path }) => path !== "storage/write/row-values.ts");
  await expectNone(t, findAll(casts, /\bas (?:RowOf|RunStateRow|ValuesOf|Row)\b/g), "row made by a cast");
});

t.test("every column of a row operation has a type of its own", async (t) => {
  const columns = SOURCES.filter(({ path }) => path === OPERATIONS_FILE || path === "storage/write/columns.ts");
  t.equal(columns.length, 2);
  await expectNone(
    t,
    findAll(columns, /^export const \w+: Column<[^>]*\bPrimitive\b|\b(?:oneOf|nullable)<(?:Primitive|string)>/gm),
    "any",
  );
});

t.test("no switched-off checks", (t) =>
  expectNone(
    t,
    findAll(SOURCES, /@ts-(?:ignore|nocheck)\b|@ts-expect-error(?!\s+\w+)|biome-ignore-all\b|eslint-disable/g, "text").filter(
      isElsewhere,
    ),
    "switched-off check",
  ),
);

t.test("nothing that Node's type stripping refuses", (t) =>
  expectNone(
    t,
    findAll(
      SOURCES,
      /^\s*(?:export\s+)?(?:const\s+)?(?:enum\s+\w+\s*\{|namespace\s+\w+)|constructor\((?:[^)]*,)?\s*(?:private|public|protected|readonly)\s+\w+\??:/gm,
    ),
    "not strippable",
  ),
);

/** This file contains the texts it searches for. */
function isElsewhere(place: string): boolean {
  return !place.startsWith("test/tidy/type-safety.test.ts");
}

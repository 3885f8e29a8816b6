import t, { type Test } from "tap";
import { COMMANDS } from "#protocol/wire/command";
import { findAll, PRODUCT, SOURCES } from "./sources.ts";

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

t.test("the type of an actor's table requires a handler for every command of the actor", async (t) => {
  const actors = new Set(Object.values(COMMANDS).map(({ actor }) => actor));
  t.ok(actors.size >= 4);
  for (const actor of actors) {
    const path = `actors/${actor}/${actor}.ts`;
    const code = PRODUCT.find((file) => file.path === path)?.code ?? "";
    const kinds = `CommandsOf<"${actor}">`;
    t.ok(code.includes(`extends CoreActor<${kinds}, `), path);
    const [, table = ""] = code.split(`commands: CommandHandlers<${kinds}> = {`);
    const own = Object.entries(COMMANDS).filter(([, row]) => row.actor === actor);
    for (const [kind] of own)
      t.match(table.slice(0, table.indexOf("\n  };")), new RegExp(`^ {4}${kind}\\b`, "m"), `${path}: ${kind}`);
  }
  const [core] = PRODUCT.filter(({ path }) => path === "actors/core/core-actor.ts");
  t.match(core?.code, /type CommandHandlers<K extends CommandKind> = \{ readonly \[Kind in K\]: /, "no kind may be left out");
});

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
  // test/unit/storage/row-operations.test.ts has the compiler check the same for the types that follow from these columns.
  const columns = SOURCES.filter(({ path }) => /^storage\/write\/(?:\w+-)?(?:ops|columns)\.ts$/.test(path));
  t.ok(columns.length >= 3, columns.map(({ path }) => path).join(", "));
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

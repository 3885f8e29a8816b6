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

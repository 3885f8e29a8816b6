/** The reference of the SDK, which test/contract/docs.test.ts keeps current, describes every export of the package. */
import t from "tap";
import { readText } from "./sources.ts";

const ENTRIES = {
  "sdk/index.ts": "millrace",
  "sdk/client/index.ts": "millrace/client",
  "sdk/testing/index.ts": "millrace/testing",
};

/** Functions that a new user meets first. */
const WITH_EXAMPLE = ["flow"];

const reference = readText("docs/reference/sdk.md");

/** The part of the reference about an entry. */
function partOf(module: string): string {
  return reference.split(/^## /m).find((part) => part.startsWith(`${module}\n`)) ?? "";
}

/** The section of an export. */
function sectionOf(part: string, name: string): string {
  return part.split(/^#{3,4} (?!#)/m).find((section) => section.startsWith(`${name}\n`)) ?? "";
}

/** The names in the export lists of a module; a module with none fails the test below. */
function exportedNames(text: string): string[] {
  const lists = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = ""]) => list.split(","));
  const listed = lists.map((name) =>
    name
      .replace(/^\s*type\s/, "")
      .split(" as ")
      .at(-1)
      ?.trim(),
  );
  const declared = [...text.matchAll(/^export (?:class|interface|const|function) (\w+)/gm)].map(([, name]) => name);
  return [...listed, ...declared].filter((name): name is string => name !== undefined && name !== "");
}

for (const [path, module] of Object.entries(ENTRIES)) {
  t.test(`every export of ${module} is described`, async (t) => {
    const part = partOf(module);
    const names = exportedNames(readText(path));
    t.ok(names.length > 5, `${names.length} exports`);
    for (const name of names) {
      const prose = sectionOf(part, name)
        .replace(/```[\s\S]*?```/g, "")
        .split("\n")
        .slice(1)
        .filter((line) => /\w/.test(line) && !line.startsWith("|"));
      const row = new RegExp(`^\\| \`${name}\` \\| \\S`, "m").test(part);
      t.ok(prose.length > 0 || row, `${name} has a comment with its meaning`);
    }
  });

  t.test(`every record of ${module} is described`, async (t) => {
    t.same(
      [...partOf(module).matchAll(/^\| `(\w+)` \|\s*\|$/gm)].map(([, name]) => name),
      [],
    );
  });
}

t.test("the main functions have an example", async (t) => {
  const part = partOf("millrace");
  for (const name of WITH_EXAMPLE) t.match(sectionOf(part, name), /```ts\nimport /, name);
});

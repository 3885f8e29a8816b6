/** The generated reference and the code in guides are up to date: `npm run docs` repairs what this finds. */
import { existsSync, readFileSync } from "node:fs";
import t from "tap";
import { embeddedFiles, fillEmbeds } from "../../scripts/docs/embeds.ts";
import { allPages, ROOT, writtenPages } from "../../scripts/docs/pages.ts";

/** Guides that show configuration and commands instead of flows, or code with a library that the package does not bring. */
const WITHOUT_CODE = new Set(
  ["mcp", "monitoring", "parameters", "postgresql", "security", "service", "tracing"].map((name) => `docs/guides/${name}.md`),
);

const PAGES = allPages();

for (const [path, text] of PAGES) {
  t.test(`${path} is up to date`, async (t) => {
    const stored = existsSync(`${ROOT}${path}`) ? readFileSync(`${ROOT}${path}`, "utf8") : "";
    t.ok(stored === text, "run `npm run docs`");
  });
}

t.test("the code of a guide is a file that exists", async (t) => {
  for (const path of writtenPages()) {
    const files = embeddedFiles(readFileSync(`${ROOT}${path}`, "utf8"));
    if (path.startsWith("docs/guides/") && !WITHOUT_CODE.has(path)) t.ok(files.length > 0, `${path} embeds its code`);
  }
});

t.test("a block takes the text of its file", async (t) => {
  const read = (path: string) => `the text of ${path}\n`;
  const filled = "a\n<!-- examples/x.ts -->\n```ts\nthe text of examples/x.ts\n```\nb\n";
  for (const before of [
    "a\n<!-- examples/x.ts -->\n```ts\n```\nb\n",
    "a\n<!-- examples/x.ts -->\n```ts\nold\n\nlines\n```\nb\n",
    filled,
  ])
    t.equal(fillEmbeds(before, read), filled);
  t.equal(fillEmbeds("```ts\nplain\n```\n", read), "```ts\nplain\n```\n");
  t.same(embeddedFiles(filled), ["examples/x.ts"]);
});

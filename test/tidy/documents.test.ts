import t from "tap";
import { PRODUCT, pathsOf, readText } from "./sources.ts";

/** Longer documents are not read as a whole. */
const ARCHITECTURE_LINES_MAX = 300;

const architecture = readText("docs/ARCHITECTURE.md");
const records = pathsOf("docs/adr/*.md");

t.test("the architecture is short enough to be read as a whole", async (t) => {
  t.ok(architecture.split("\n").length < ARCHITECTURE_LINES_MAX);
});

t.test("every decision record is listed, numbered without gaps and complete", async (t) => {
  t.ok(records.length >= 5);
  for (const [index, path] of records.entries()) {
    const name = path.slice("docs/adr/".length);
    t.ok(architecture.includes(`adr/${name}`), `docs/ARCHITECTURE.md lists ${name}`);
    t.equal(Number(name.slice(0, 4)), index + 1, `${name} has the next number`);
    const text = readText(path);
    t.match(text, new RegExp(`^# ${index + 1}\\. `), `${name} begins with its number`);
    for (const part of ["Context", "Decision", "Consequences"])
      t.match(text, new RegExp(`^## ${part}`, "m"), `${name} has ${part}`);
  }
});

t.test("numbers in the semantics are those of the code, and limits are more than words", async (t) => {
  const { ...limits } = await import("#protocol/limits");
  const semantics = readText("docs/SEMANTICS.md");
  let checked = 0;
  for (const match of semantics.matchAll(/^\|[^|]*\| ([\d,.]+)[^|]*\|[^|]*\| `([A-Z_]+)` \|$/gm)) {
    const [, shown = "", name = ""] = match;
    const value = (limits as Record<string, unknown>)[name];
    t.equal(Number(shown.replaceAll(",", "")), inShownUnit(name, value), name);
    t.ok(
      PRODUCT.some((file) => file.path !== "protocol/limits.ts" && new RegExp(`\\b${name}\\b`).test(file.bare)),
      `${name} is enforced somewhere`,
    );
    checked += 1;
  }
  t.ok(checked >= 15, `${checked} numbers are checked`);
});

/** The table shows round numbers of bytes in KiB or MiB, and times in seconds. */
function inShownUnit(name: string, value: unknown): number {
  const number = Number(Array.isArray(value) ? value[1] : value);
  if (name.endsWith("_BYTES_MAX"))
    return number % 1_048_576 === 0 ? number / 1_048_576 : number % 1024 === 0 ? number / 1024 : number;
  if (name.endsWith("_US")) return number / 1e6;
  return name.endsWith("_MS") || name.endsWith("_MS_MAX") ? number / 1000 : number;
}

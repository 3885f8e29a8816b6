import t from "tap";
import { cycleOf, cyclicComponents, type ImportGraph } from "./import-graph.ts";
import { importsOf } from "./module-graph.ts";
import { PRODUCT } from "./sources.ts";

/**
 * Files of the largest cycle of a folder when imports of types count too; 1 is a folder without one. A cycle of types loads
 * in any order, but none of its files can be understood without all others. A number falls with the cycle and never rises.
 */
const TYPE_CYCLE_FILES: Readonly<Record<string, number>> = {
  actors: 2,
  cli: 1,
  dashboard: 1,
  gateway: 2,
  protocol: 1,
  runtime: 1,
  sdk: 5,
  server: 3,
  storage: 2,
  system: 1,
};

/**
 * The imports among the files of a folder. `import { type X }` loads its module, as the compiler keeps such a statement, so
 * it imports a value; `import type` and `export type ... from` do not. `import()` runs later and closes no cycle.
 */
function graphOf(folder: string, kinds: readonly string[]): ImportGraph {
  const files = PRODUCT.filter((file) => file.folder === folder);
  const paths = new Set(files.map(({ path }) => path));
  return new Map(
    files.map((file) => {
      const targets = importsOf(file).flatMap(({ kind, target }) => (target !== null && kinds.includes(kind) ? [target] : []));
      return [file.path, new Set(targets.filter((target) => target !== file.path && paths.has(target)))];
    }),
  );
}

function told(component: readonly string[], graph: ImportGraph): string {
  return `${component.length} files import each other: ${cycleOf(component, graph).join(" -> ")}`;
}

t.test("no file imports itself through other files of its folder", async (t) => {
  for (const folder of Object.keys(TYPE_CYCLE_FILES)) {
    const graph = graphOf(folder, ["value"]);
    const found = cyclicComponents(graph).map((component) => told(component, graph));
    t.same(found, [], folder);
  }
});

t.test("cycles of imported types only get smaller", async (t) => {
  const found: string[] = [];
  for (const [folder, most] of Object.entries(TYPE_CYCLE_FILES)) {
    const graph = graphOf(folder, ["value", "type"]);
    const [largest = [folder]] = cyclicComponents(graph);
    if (largest.length > most) found.push(`${folder}/ may have a cycle of ${most}; ${told(largest, graph)}`);
    if (largest.length < most) found.push(`${folder}/ has a cycle of ${largest.length} now: lower its number here`);
  }
  t.same(found, []);
});

t.test("every folder of the product is checked", async (t) => {
  t.same([...new Set(PRODUCT.map(({ folder }) => folder))].sort(), Object.keys(TYPE_CYCLE_FILES));
});

t.test("the check sees cycles, names their files in order, and ignores what only leads to or from them", async (t) => {
  const imports = { entry: ["a"], a: ["b", "leaf"], b: ["c", "d"], c: ["a"], d: ["b"], leaf: [], x: ["y"], y: ["x", "leaf"] };
  const graph: ImportGraph = new Map(Object.entries(imports).map(([file, targets]) => [file, new Set(targets)]));
  const components = cyclicComponents(graph);
  t.same(components, [
    ["a", "b", "c", "d"],
    ["x", "y"],
  ]);
  t.same(
    components.map((component) => cycleOf(component, graph)),
    [
      ["a", "b", "c", "a"],
      ["x", "y", "x"],
    ],
  );
});

import { existsSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { type DiscoveryLimits, discover } from "#server/discovery/discovery";
import { UserCodeChild } from "#server/user-code/child-process";

const FLOW = (name: string) => `import { flow } from "millrace";\nexport const f = flow("${name}", async () => {});\n`;
const names = (flows: { flow: string }[]) => flows.map((flow) => flow.flow);

const env = { ...process.env, NODE_OPTIONS: "" };
const CHILD = { env, execArgv: ["--conditions=millrace-src"], heapMb: 512, blockedMs: 10_000, print: () => undefined };

async function discoverFlows(dir: string, limits?: DiscoveryLimits) {
  const { discovery, child } = await discover(dir, () => new UserCodeChild(CHILD), limits);
  child?.kill();
  return discovery;
}

t.test("flows are found in folders, tests and declarations and other people's folders are left alone", async (t) => {
  const dir = t.testdir({
    "a.ts": FLOW("a"),
    "b.mjs": FLOW("b"),
    "a.test.ts": FLOW("from-test"),
    "a.d.ts": "import 'millrace'; export declare const x: number;",
    nested: { deep: { "c.ts": FLOW("c") } },
    node_modules: { "d.ts": FLOW("d") },
    ".hidden": { "e.ts": FLOW("e") },
    home: { "db.lock": "", cache: { "f.ts": FLOW("f") } },
    "g.cjs": 'exports.g = require("millrace").flow("g", () => 1);',
    "h.cts": 'exports.h = require("millrace").flow("h", (n: number) => n);',
    "README.md": "millrace",
    "no-flow.ts": 'import "millrace"; export const x = 1;',
    "script.ts": `// Cleans up what millrace has left.\nimport { writeFileSync } from "node:fs";\nwriteFileSync("${join(t.testdirName, "ran")}", "x");\n`,
  });
  const { flows, problems, warnings } = await discoverFlows(dir);
  t.same(names(flows), ["a", "b", "g", "h", "c"]);
  t.match(flows[4], { module: "nested/deep/c.ts", source_dir: dir, flow: "c" });
  t.same(problems, []);
  t.same(warnings, []);
  t.notOk(existsSync(join(dir, "ran")), "a script that has nothing to do with flows is not run");
});

t.test("a module that throws, ends its process or never ends is reported, the others are served", async (t) => {
  const dir = t.testdir({
    "a-throws.ts": 'import "millrace";\nthrow new Error("no such table");\n',
    "b-syntax.ts": 'import "millrace";\nconst = 3;\n',
    "c-exits.ts": 'import "millrace";\nconsole.error("cannot connect");\nprocess.exit(4);\n',
    "d-hangs.ts": 'import "millrace";\nfor (;;);\n',
    "e-waits.ts": 'import "millrace";\nawait new Promise((resolve) => setTimeout(resolve, 3600e3));\n',
    "f-works.ts": FLOW("works"),
  });
  const { flows, problems } = await discoverFlows(dir, { importMs: 6_000, depthMax: 3, filesMax: 100 });
  t.same(names(flows), ["works"]);
  t.same(
    problems.map((error) => error.module),
    ["a-throws.ts", "b-syntax.ts", "c-exits.ts", "d-hangs.ts", "e-waits.ts"],
  );
  const [throws, syntax, exits, hangs, waits] = problems.map((error) => error.error);
  t.match(throws, /no such table/);
  t.match(syntax, /SyntaxError|Expression expected|Unexpected|Expected/);
  t.equal(exits, "it ended the process with code 4 while it was imported\ncannot connect");
  t.equal(hangs, "importing it took longer than 6 s");
  t.equal(waits, "importing it took longer than 6 s");
});

t.test("one flow has one module", async (t) => {
  const dir = t.testdir({ "a.ts": FLOW("same"), "b.ts": 'import "millrace";\nexport * from "./a.ts";\n' });
  const { flows, problems } = await discoverFlows(dir);
  t.same(names(flows), ["same"]);
  t.match(problems, [{ module: "b.ts", error: /is already exported by a\.ts: give one of the two another name$/ }]);
});

t.test("depth and number of files are bounded, and it is said so", async (t) => {
  const dir = t.testdir({ "a.ts": FLOW("a"), one: { "b.ts": FLOW("b"), two: { "c.ts": FLOW("c") } } });
  const shallow = await discoverFlows(dir, { importMs: 10_000, depthMax: 1, filesMax: 100 });
  t.same(names(shallow.flows), ["a", "b"]);
  t.match(shallow.warnings, [/two is deeper than 1 below/]);
  const few = await discoverFlows(dir, { importMs: 10_000, depthMax: 5, filesMax: 1 });
  t.same(names(few.flows), ["a"]);
  t.match(few.warnings, [/holds more than 1 modules/]);
});

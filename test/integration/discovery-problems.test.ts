/** Warnings of discovery about files that load but are probably wrong. */
import t from "tap";
import { discover } from "#server/discovery/discovery";
import { UserCodeChild } from "#server/user-code/child-process";

const FLOW = (name: string) => `import { flow } from "millrace";\nexport const f = flow("${name}", async () => {});\n`;
const env = { ...process.env, NODE_OPTIONS: "" };
const CHILD = { env, execArgv: ["--conditions=millrace-src"], heapMb: 512, blockedMs: 10_000, print: () => undefined };

async function discoverFlows(dir: string) {
  const { discovery, child } = await discover(dir, () => new UserCodeChild(CHILD));
  child?.kill();
  return discovery;
}

t.test("a schedule that cannot be read is named, and is not counted; the flow is there", async (t) => {
  const dir = t.testdir({
    "a.ts": `import { cron, flow } from "millrace";
      const schedules = [cron("0 6 * * *", { key: "k" }), cron("99 * * * *"), cron("0 6 * * *", { timezone: "Mars" }), cron("0 7 * * *", { key: "k" })];
      export const f = flow("f", { schedules }, async () => {});`,
  });
  const { flows, schedules, problems } = await discoverFlows(dir);
  const [flow] = flows;
  t.equal(flow && schedules.get(flow), 1);
  t.match(problems, [
    { kind: "part", module: "a.ts", error: /flow ".*\/f": schedule 1: .*99/ },
    { kind: "part", module: "a.ts", error: /schedule 2: unknown timezone "Mars"/ },
    { kind: "part", module: "a.ts", error: /schedule 3: the key "k" is used twice/ },
  ]);
});

t.test("unknown options, files without a flow and syntax errors are problems of their files", async (t) => {
  const dir = t.testdir({
    "bad.ts": 'import "millrace";\nconst a = ;\n',
    "kept.ts": 'import { flow } from "millrace";\nconst f = flow("f", async () => {});\n',
    "typo.ts": 'import { flow } from "millrace";\nexport const g = flow("g", { retrys: 2 }, async () => {});\n',
  });
  t.match((await discoverFlows(dir)).problems, [
    {
      kind: "file",
      module: "bad.ts",
      error: /^bad\.ts:2:11: SyntaxError: .*\n1 \| import "millrace";\n2 \| const a = ;\n {2}\| {11}\^/,
    },
    { kind: "warning", module: "kept.ts", error: /it exports no flow/ },
    { kind: "warning", module: "typo.ts", error: /"retrys".*did you mean "retries"/ },
  ]);
});

t.test("a package that does not say what its modules are, or says CommonJS, has flows without a warning", async (t) => {
  for (const type of ["", ', "type": "commonjs"']) {
    const dir = t.testdir({ "package.json": `{"name":"x"${type}}`, "a.ts": FLOW("a"), "b.js": FLOW("b"), "c.mjs": FLOW("c") });
    const { flows, warnings, problems } = await discoverFlows(dir);
    t.same(
      flows.map(({ flow }) => flow),
      ["a", "b", "c"],
    );
    t.same([warnings, problems], [[], []]);
  }
});

/** A file that does not load, or not as intended, is shown wherever flows are. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { Millrace } from "#sdk/client/index";
import { until } from "../support/called-code.ts";
import { millrace, serve, startCommand } from "../support/command-line.ts";
import { testFolder } from "../support/test-folder.ts";

const GOOD = 'import { flow } from "millrace";\nexport const good = flow("good", async () => {});\n';

t.test("a new file that never loads is named with its error wherever flows are listed", async (t) => {
  const root = testFolder(t, {
    flows: { "good.ts": GOOD, "late.ts": 'import "millrace";\nthrow new Error("no such table");\n' },
  });
  const home = join(root, "home");
  await serve(t, join(root, "flows"), home);
  const client = new Millrace({ home });
  t.match((await client.settings()).code_problems, [{ module: "late.ts", kind: "file", error: /no such table/ }]);

  const listed = await millrace("flows", "ls", "--home", home);
  t.match(listed.out, /flows\/good[\s\S]*1 file could not be used:\n■ late\.ts {2}Error: no such table/);
  const asJson = await millrace("flows", "ls", "--json", "--home", home);
  t.match(JSON.parse(asJson.out), [{ name: "good" }], "a program still gets the flows alone");
  t.match((await millrace("status", "--home", home)).out, /1 file could not be used:\n■ late\.ts {2}Error: no such table/);
  t.match(JSON.parse((await millrace("status", "--json", "--home", home)).out), { code_problems: [{ module: "late.ts" }] });
  const unknown = await startCommand(["run", "daily", "--home", home]).ended;
  t.equal(unknown.code, 3);
  t.match(
    unknown.errors,
    /knows no flow "daily"\. It has: good\.\n\n1 file could not be used:\n■ late\.ts {2}Error: no such table/,
  );

  writeFileSync(join(root, "flows", "late.ts"), GOOD.replaceAll("good", "late"));
  await until(async () => (await client.settings()).code_problems.length === 0 || undefined);
  t.equal((await client.flows.list()).length, 2);
  writeFileSync(join(root, "flows", "newer.ts"), 'import "millrace";\nthrow new Error("no network");\n');
  await until(async () => (await client.settings()).code_problems.length === 1 || undefined);
  t.match((await client.settings()).code_problems, [{ module: "newer.ts", error: /no network/ }]);
});

t.test("a file whose flow has the name of a served one has no run of the other's", async (t) => {
  const root = testFolder(t, {
    flows: { "good.ts": GOOD },
    other: { "mine.mjs": GOOD.replace('"good",', '"good", { project: "flows" },') },
  });
  const home = join(root, "home");
  await serve(t, join(root, "flows"), home);
  const mine = join(root, "other", "mine.mjs");
  const refused = await startCommand(["run", mine, "--detach", "--home", home]).ended;
  t.equal(refused.code, 3);
  t.match(refused.errors, `flow "flows/good" is already exported by ${join(root, "flows", "good.ts")}, which the server serves`);
  t.same((await new Millrace({ home }).runs.list().page()).items, []);
  const own = await startCommand(["run", join(root, "flows", "good.ts"), "--detach", "--home", home]).ended;
  t.equal(own.code, 0, own.errors);
});

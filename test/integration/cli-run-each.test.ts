/** `millrace run --each` with a real server. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { RUN_BATCH_RUNS_MAX } from "#protocol/limits";
import { Millrace } from "#sdk/client/index";
import { millrace, serve, startCommand } from "../support/command-line.ts";
import { testFolder } from "../support/test-folder.ts";

const SCHEMA = { type: "object", properties: { n: { type: "integer" }, label: { type: "string" } } };
const FLOW = { project: "shop", flow: "orders", module: "shop.py", source_dir: "/nowhere", parameter_schema: SCHEMA };

async function setup(t: Test) {
  const folder = testFolder(t, { served: {} });
  const home = join(folder, "home");
  await serve(t, join(folder, "served"), home);
  const client = new Millrace({ home });
  await client.runs.create(FLOW);
  const file = (...lines: unknown[]) => {
    const path = join(folder, "lines.jsonl");
    writeFileSync(path, lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"));
    return path;
  };
  return { home, client, file };
}

t.test("each line is a run, with the tags and parameters of the command line below its own", async (t) => {
  const { home, client, file } = await setup(t);
  const path = file({ n: 1 }, "", { n: 2, label: "own" });
  const made = await millrace("run", "orders", "--each", path, "-p", "label=all", "--tag", "hot", "--home", home);
  t.match(made, { code: 0, out: "Created 2 runs of shop/orders in 1 batch\n", errors: "" });
  t.match(await client.runs.get(2), { parameters: { n: 1, label: "all" }, tags: ["hot"], created_by: "cli" });
  t.match(await client.runs.get(3), { parameters: { n: 2, label: "own" } });
  const json = await millrace("run", "orders", "--each", path, "--json", "--home", home);
  t.match(JSON.parse(json.out), { created: 2, runs: [{ id: 4 }, { id: 5 }] });
  t.match(await millrace("run", "orders", "--each", path, "-q", "--home", home), { code: 0, out: "" });
});

t.test("the standard input is read to its end, and more lines than a batch holds are several batches", async (t) => {
  const { home, client } = await setup(t);
  const started = startCommand(["run", "shop/orders", "--each", "-", "--home", home], { stdin: "pipe" });
  const count = RUN_BATCH_RUNS_MAX + 5;
  started.child.stdin?.end(Array.from({ length: count }, (_, n) => `{"n":${n}}\n`).join(""));
  t.match(await started.ended, { code: 0, out: "Created 10,005 runs of shop/orders in 2 batches\n" });
  t.match(await client.runs.counts(), { total: count + 1 });
  t.match(await client.runs.get(count + 1), { parameters: { n: count - 1 } });
});

t.test("a line that is refused is named, and so is what became of the others", async (t) => {
  const { home, client, file } = await setup(t);
  const run = (path: string, ...more: string[]) => millrace("run", "orders", "--each", path, "--home", home, ...more);
  const malformed = await run(file({ n: 1 }, "{"));
  t.match(malformed, { code: 3, out: "", errors: /line 2 of .*lines\.jsonl is not JSON.*No run was created/ });
  const wrong = await run(file({ n: 1 }, "", { n: "x" }));
  t.match(wrong, { code: 3, errors: /line 3: parameter "n": expected integer.*No run was created/ });
  t.match(await client.runs.counts(), { total: 1 });
  const lines: unknown[] = Array.from({ length: RUN_BATCH_RUNS_MAX + 2 }, (_, n) => ({ n }));
  lines[RUN_BATCH_RUNS_MAX + 1] = { n: "x" };
  const late = await run(file(...lines));
  t.equal(late.code, 3);
  t.match(late.errors, /line 10002: parameter "n": expected integer/);
  t.match(late.errors, /10,000 runs of the lines before line 10001 were created\. None of lines 10001 to 10002 was\./);
  t.match(await client.runs.counts(), { total: RUN_BATCH_RUNS_MAX + 1 });
  t.match(await run(file("")), { code: 2, out: /Created 0 runs/ });
  t.match(await run(file({}), "--name", "x"), { code: 3, errors: /--name is the name of one run/ });
  t.match(await run("no-such-file"), { code: 3, errors: /no-such-file cannot be read: ENOENT/ });
});

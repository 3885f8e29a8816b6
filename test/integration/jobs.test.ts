import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { serveFlows } from "../support/served-flows.ts";
import { until } from "../support/served-home.ts";

const SETTINGS = `
[jobs.greet]
run = "echo hello $name from $place $(basename \\"$PWD\\"); test $count -gt 1"
cron = "0 6 * * *"
timezone = "Europe/Berlin"
description = "says hello"
env = { place = "here" }
parameters = { name = "Ada Lovelace", count = 2 }

[jobs.program]
run = ["sh", "-c", "cat; echo \\"$0\\" >&2; exit 2", "a  b"]
input = "typed"
ok = [0, 2]

[jobs.slow]
run = "echo begun; sleep 300"
timeout = "1s"
`;

t.test("jobs of millrace.toml are flows: registered, scheduled, run with parameters, ended by their limits", async (t) => {
  const { client, dir } = await serveFlows(t, { "millrace.toml": SETTINGS });
  const flows = new Map((await client.flows.list()).map((flow) => [flow.name, flow]));
  t.same([...flows.keys()].sort(), ["greet", "program", "slow"]);
  t.match(flows.get("greet"), { project: "flows", module: "millrace.toml", description: "says hello" });
  const id = (name: string) => flows.get(name)?.id ?? 0;
  const schedules = await client.schedules.list(id("greet"));
  t.match(schedules, [{ flow_id: id("greet"), schedule: { cron: "0 6 * * *", timezone: "Europe/Berlin" } }]);

  const linesOf = async (run: number) =>
    (await client.runs.logs(run).first(100)).map(({ logger, message }) => `${logger} ${message}`);
  const ended = async (name: string, parameters = {}) => {
    const created = await client.flows.run(id(name), { parameters });
    const { state } = (await client.waitFor(created.id)).run;
    return { state, lines: await linesOf(created.id) };
  };
  const greeted = await ended("greet");
  t.match(greeted.state, { type: "Completed", details: { result: { code: 0 } } });
  t.same(greeted.lines, ["millrace.stdout hello Ada Lovelace from here flows"]);
  const failed = await ended("greet", { name: "Bob", count: "1" });
  t.equal(failed.state.type, "Failed");
  t.match(failed.state.message, /^CommandError: `echo hello .* ended with code 1/);
  t.match(failed.lines[0], "hello Bob");
  const program = await ended("program");
  t.match(program.state, { type: "Completed", details: { result: { code: 2 } } });
  t.same(program.lines.sort(), ["millrace.stderr a  b", "millrace.stdout typed"]);
  const slow = await ended("slow");
  t.equal(slow.state.name, "TimedOut");
  t.match(slow.lines[0], "begun");

  writeFileSync(join(dir, "millrace.toml"), `${SETTINGS}\n[jobs.added]\nrun = "true"\n`);
  const added = await until(async () => (await client.flows.list()).find(({ name }) => name === "added") ?? null);
  t.equal((await client.waitFor((await client.flows.run(added.id)).id)).run.state.type, "Completed");

  writeFileSync(join(dir, "millrace.toml"), `${SETTINGS}\n[jobs.bad]\nrun = 3\n`);
  const problem = await until(async () => (await client.settings()).code_problems[0] ?? null);
  t.match(problem, {
    module: "millrace.toml",
    kind: "file",
    error: /line \d+: \[jobs\.bad\] run must be a text, or a list of texts, not 3/,
  });
});

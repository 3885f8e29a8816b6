/** A run whose engine is missing or does not start names the setting to add to millrace.toml. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { Millrace } from "#sdk/client/index";
import { millrace, serving, startCommand } from "../support/command-line.ts";
import { testFolder } from "../support/test-folder.ts";

const GREET = { project: "greetings", flow: "greet", module: "greetings.py" };

async function served(test: Parameters<typeof serving>[0], settings: string) {
  const root = testFolder(test, { flows: { "greetings.py": "", "millrace.toml": settings } });
  const [dir, home] = [join(root, "flows"), join(root, "home")];
  const server = startCommand(["serve", ".", "--home", home, "--port", "0", "--no-open"], { cwd: dir });
  await serving(test, server);
  return { home, client: new Millrace({ home }), flow: { ...GREET, source_dir: dir } };
}

/** Output of `run` until it has printed what the run waits for. */
async function followed(test: Parameters<typeof serving>[0], home: string): Promise<string> {
  const { child } = startCommand(["run", "greet", "--home", home]);
  test.teardown(() => child.kill("SIGKILL"));
  let text = "";
  for await (const part of child.stdout ?? []) {
    text += part;
    if (/^Waits: .*\n/m.test(text)) break;
  }
  return text;
}

t.test("a run for whose module no engine is named says the line to write into millrace.toml", async (t) => {
  const { home, client, flow } = await served(t, "");
  const { id } = await client.runs.create(flow);
  const line = /no engine polls for the module greetings\.py: write "\*\.py" = "python3 engine\.py" under \[engines\]/;
  t.match((await client.runs.explain(id)).reason, { code: "no_engine_for_module", text: line });
  t.match((await millrace("runs", "show", String(id), "--home", home)).out, line);
  t.match(await followed(t, home), line);
});

t.test(
  "a run whose engine ends before it asks for work says how it ended, and the server's log with which command",
  async (t) => {
    const { home, client, flow } = await served(t, '[engines]\n"*.py" = ["node", "-e", "process.exit(9)"]\n');
    const { id } = await client.runs.create(flow);
    const why = /end before they ask for work: engine process exited with code 9; see the command of "\*\.py" under \[engines\]/;
    t.match(await followed(t, home), why);
    t.match((await client.runs.explain(id)).reason, { code: "engine_start_failed", object: "greetings.py", text: why });
    t.match((await millrace("runs", "show", String(id), "--home", home)).out, why);
    const log = readFileSync(join(home, "server.log"), "utf8");
    const said = log.match(
      /an engine for greetings\.py ended before it asked for work.* exited with code 9 \(command: node -e .*\)/g,
    );
    t.equal(said?.length, 1, "further tries that end alike are not repeated");
  },
);

t.test("a command that is not there is named", async (t) => {
  const { home, client, flow } = await served(t, '[engines]\n"*.py" = "pyhton3 engine.py"\n');
  await client.runs.create(flow);
  t.match(await followed(t, home), /^Waits: .*could not be started: spawn pyhton3 ENOENT/m);
});

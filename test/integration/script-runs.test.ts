/** Flows called in a plain script: without a server the script acts as one, with a server it submits and follows the run. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { Millrace } from "#sdk/client/index";
import { serveWithEngines } from "../support/command-line.ts";
import { runScript } from "../support/script-process.ts";

const FLOWS = fileURLToPath(new URL("./script-flows", import.meta.url));
const SCRIPT = join(FLOWS, "script.ts");
const home = mkdtempSync(join(tmpdir(), "millrace-script-"));
t.teardown(() => rmSync(home, { recursive: true, force: true }));

/** The history of a run, without values that differ between runs. */
async function historyOf(client: Millrace, id: number) {
  const run = await client.runs.get(id);
  const events = await client.events.list({ run_id: id, ascending: true }).first(100);
  return {
    ...{ project: run.project, flow: run.flow_name, state: run.state.name, details: run.state.details, tags: run.tags },
    tasks: (await client.runs.tasks(id)).map(({ name, dynamic_key, state }) => [name, dynamic_key, state.name]),
    lines: (await client.runs.logs(id).first(100)).map(({ level, logger, message }) => [level, logger, message]),
    events: events.map(({ name, payload, resource }) => [name, resource.kind, Object.keys(payload)]),
  };
}

t.test(
  "without a server a script runs its flows itself, and history shows them as a server's",
  { timeout: 180_000 },
  async (t) => {
    const done = await runScript(SCRIPT, home, "sums", "4");
    t.equal(done.code, 0, done.stderr);
    t.equal(done.stdout, 'printed 4\nwritten without console\n{"result":{"sum":5}}\n', "what the flow prints is seen");
    t.match(done.stderr, "INFO logged");
    const failed = await runScript(SCRIPT, home, "sums", "-1");
    t.match(JSON.parse(failed.stdout.trimEnd().split("\n").at(-1) ?? ""), { state: "Failed", run: 2, cause: true });
    const scripts = await Promise.all([runScript(SCRIPT, home, "sums", "6"), runScript(SCRIPT, home, "sums", "7")]);
    t.same(
      scripts.map(({ code }) => code),
      [0, 0],
      "two scripts wait for each other",
    );

    await serveWithEngines(t, FLOWS, home, "--max-engines", "1");
    const client = new Millrace({ home });
    const script = await client.runs.get(1);
    t.match((await historyOf(client, 1)).lines, [
      [20, "millrace.print", "printed 4"],
      [20, "millrace.stdout", "written without console"],
    ]);
    t.match(script, { created_by: "script", state: { type: "Completed" }, parameters: { n: 4 } });
    t.match((await client.runs.get(2)).state, { type: "Failed", message: "RangeError: negative" });
    const served = await client.flows.run(script.flow_id, { parameters: { n: 4 } });
    await client.waitFor(served.id);
    t.same(await historyOf(client, script.id), await historyOf(client, served.id), "a script and a served run look alike");

    await t.test("with a server the script submits and follows", async (t) => {
      const followed = await runScript(SCRIPT, home, "sums", "8");
      t.equal(followed.code, 0, followed.stderr);
      t.same(followed.stdout.split("\n").sort(), ["", "printed 8", "written without console", '{"result":{"sum":9}}']);
      const [newest] = await client.runs.list().first(1);
      t.match(newest, { created_by: "script", state: { type: "Completed" } });
      t.match(newest?.engine_id, /^engine-/, "an engine of the server has run it");
      const refused = await runScript(SCRIPT, home, "sums", "-5");
      t.match(JSON.parse(refused.stdout.trim().split("\n").at(-1) ?? ""), { state: "Failed", cause: false });
    });
  },
);

t.test("without a server a script executes its run and the children of it", { timeout: 180_000 }, async (t) => {
  const own = mkdtempSync(join(tmpdir(), "millrace-script-"));
  t.teardown(() => rmSync(own, { recursive: true, force: true }));
  const done = await runScript(SCRIPT, own, "family");
  t.equal(done.code, 0, done.stderr);
  const lines = done.stdout.trimEnd().split("\n");
  t.match(lines.at(-1), '{"result":[2,3,4]}', done.stdout);
  t.same(lines.slice(0, -1).sort(), ["nap 1", "nap 2", "nap 3"], "nothing between a wait and the end is done twice");
  const called = await runScript(SCRIPT, own, "called");
  t.match(called.stdout, /callback\(\) needs a server: this script executes its run itself/, called.stderr);
});

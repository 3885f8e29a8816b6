/** A plain script and its home: events, variables, runs that end early, and the lock. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { Millrace } from "#sdk/client/index";
import { startInProcess } from "#server/in-process";
import { lockHome } from "#storage/home/lock";
import { serveWithEngines } from "../support/command-line.ts";
import { runScript, startScript } from "../support/script-process.ts";

const FLOWS = fileURLToPath(new URL("./script-flows", import.meta.url));
const SCRIPT = join(FLOWS, "script.ts");
const home = mkdtempSync(join(tmpdir(), "millrace-script-"));
t.teardown(() => rmSync(home, { recursive: true, force: true }));

t.test("events and variables of a script are the home's", { timeout: 180_000 }, async (t) => {
  t.match((await runScript(SCRIPT, home, "outside", "one")).stdout, '{"before":"nothing"}');
  t.match((await runScript(SCRIPT, home, "outside", "two")).stdout, '{"before":"one"}');
  await serveWithEngines(t, FLOWS, home, "--max-engines", "1");
  const client = new Millrace({ home });
  const events = await client.events.list({ name: "script.done", ascending: true }).first(10);
  t.same(
    events.map(({ payload }) => payload),
    [{ argument: "one" }, { argument: "two" }],
  );
  t.match((await runScript(SCRIPT, home, "outside", "three")).stdout, '{"before":"two"}');
  t.equal((await client.variables.get("script/last")).value, "three");
});

t.test("two flows called at once, and one that does not stop in time", { timeout: 60_000 }, async (t) => {
  const both = await runScript(SCRIPT, home, "two");
  t.match(both.stdout, '[{"sum":2},{"sum":3}]\n');
  t.match(JSON.parse((await runScript(SCRIPT, home, "endless")).stdout), { state: "TimedOut" });
});

t.test("Ctrl-C cancels the run of a script", { timeout: 180_000 }, async (t) => {
  const script = startScript(SCRIPT, home, "waits");
  await script.said("INFO waiting");
  script.child.kill("SIGINT");
  await script.said("cancelling run");
  const { stdout } = await script.ended;
  t.match(JSON.parse(stdout), { state: "Cancelled" });
});

t.test("runs that wait for others are left alone, and the home is free afterwards", { timeout: 180_000 }, async (t) => {
  const local = await startInProcess(home, home);
  t.throws(() => lockHome(home), { name: "HomeLockedError" }, "the home is locked while it is served");
  const url = "in this process";
  const client = new Millrace({
    peer: () => Promise.resolve({ url, token: null, send: (path, request) => local.send({ ...request, path }) }),
  });
  const queued = await client.runs.create({ project: "script-flows", flow: "sums", parameters: { n: 1 } });
  const { url: own } = await client.server();
  t.equal(own, "", "nothing listens");
  await local.stop();
  t.equal((await runScript(SCRIPT, home, "sums", "2")).code, 0);
  const again = await startInProcess(home, home);
  const answer = await again.send({
    ...{ method: "GET", path: `/api/runs/${queued.id}`, headers: {}, body: null },
    signal: new AbortController().signal,
  });
  t.match(JSON.parse(await answer.text()), { state: { type: "Scheduled" } });
  await again.stop();
  lockHome(home).release();
});

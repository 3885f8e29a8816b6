/** Runs that code starts, where the started run or the run that starts it crashes and is run again. */
import t from "tap";
import { serveFlows } from "../support/served-flows.ts";

const FLOWS = `
import { appendFileSync, readFileSync } from "node:fs";
import { flow, run, Type } from "millrace";

/** Ends the engine's process as long as fewer calls than \`times\` are noted. */
function crash(name: string, times: number): void {
  const file = new URL("../" + name + ".txt", import.meta.url);
  appendFileSync(file, "x");
  if (readFileSync(file, "utf8").length <= times) process.exit(3);
}

const Name = Type.Object({ name: Type.String(), times: Type.Integer({ default: 0 }) });
export const crashing = flow("crashing", { parameters: Name, isolated: true }, ({ name, times }) => {
  crash(name, times);
  return name + " at last";
});
export const waits = flow("waits", async () => await crashing.runAndWait({ name: "once", times: 2 }));
export const fails = flow("fails", async () => {
  return await limited.runAndWait().catch((error) => error.name + " " + error.state);
});
export const limited = flow("limited", { crashRetries: 0, isolated: true }, () => process.exit(3));
export const starter = flow("starter", { isolated: true }, async () => {
  const items = [{ name: "a" }, { name: "b" }];
  const started = await crashing.startMany(items, { idempotencyKey: "of the work" });
  const one = await crashing.start({ name: "c" }, { idempotencyKey: "of c" });
  crash("starter", 2);
  return [run.attempt, ...(await Promise.all([...started, one].map((each) => each.result())))];
});
export const others = flow("others", { isolated: true }, async () => {
  await crashing.startMany([{ name: "a" }, { name: "d" }], { idempotencyKey: "of the work" });
});
`;

t.test("started runs outlive crashes", { timeout: 110_000 }, async (t) => {
  const { client } = await serveFlows(t, {
    "flows.ts": FLOWS,
    "millrace.toml": "[server]\ncrash_rerun_delay_secs = [0.05, 0.1]",
  });
  const flows = new Map((await client.flows.list()).map(({ name, id }) => [name, id]));
  const run = async (name: string) => await client.flows.run(flows.get(name) ?? 0);
  const started = async (by: string) =>
    (await client.runs.list({ flow: "crashing" }).first(100)).filter(({ created_by }) => created_by === by).length;

  await t.test("a run that waits for a started run gets the result of the run that repeats it", async (t) => {
    const { id } = await run("waits");
    const ended = await client.waitFor(id);
    t.equal(ended.result, "once at last", ended.run.state.message ?? "");
    t.equal(await started(`run:${id}`), 1);
  });

  await t.test("a started run that is not run again is an error", async (t) => {
    const { result } = await client.waitFor((await run("fails")).id);
    t.equal(result, "RunError Failed");
  });

  await t.test("a run that repeats its starter gets the runs of that key, over two crashes", async (t) => {
    const { id } = await run("starter");
    const first = await client.waitFor(id);
    t.equal(first.run.state.type, "Crashed", "of itself, a wait ends with the run");
    const last = await client.waitFor(id, { reruns: true });
    t.same(last.result, [3, "a at last", "b at last", "c at last"], last.run.state.message ?? "");
    t.equal(await started(`run:${id}`), 3);
    t.equal((await client.runs.rerunOf(first.run))?.created_by, `crash:${id}`);
    t.equal(await client.runs.rerunOf(last.run), null, "it did not crash");
  });

  await t.test("other parameters under that key are an error", async (t) => {
    const { run: failed } = await client.waitFor((await run("others")).id);
    t.match(failed.state, { type: "Failed", message: /Idempotency-Key was used for a different request/ });
  });
});

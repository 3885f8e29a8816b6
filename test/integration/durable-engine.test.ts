/** Durable flows in real engines. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { serveFlows } from "../support/flow-server.ts";
import { testFolder } from "../support/test-folder.ts";

const FLOWS = fileURLToPath(new URL("./durable-flows", import.meta.url));

/** What a run has done outside, in the order of the lines. */
function effectsIn(folder: string): string[] {
  return readFileSync(`${folder}/effects`, "utf8").trimEnd().split("\n");
}

function folderOf(t: Test): string {
  return testFolder(t, {});
}

t.test("durable runs in engines", { timeout: 240_000 }, async (t) => {
  const { client, home, start, reached, seen } = await serveFlows(t, FLOWS);
  const rerunOf = async (id: number): Promise<number> => {
    let rerun = 0;
    await seen(({ event, data }) => {
      if (event === "run.updated" && "parent_run_id" in data && data.parent_run_id === id) rerun = data.id;
      return rerun !== 0;
    });
    return rerun;
  };

  await t.test("steps are stored, and a retry of the flow finds them", async (t) => {
    const folder = folderOf(t);
    const { id } = await start("steps", { folder });
    const { run, result } = await client.waitFor(id);
    t.equal(result, true, run.state.message ?? "");
    t.same(effectsIn(folder).sort(), ["first", "large", "side 1", "side 2", "side 3"]);
    const stored = await client.runs.steps(id).first(100);
    t.equal(stored.filter(({ name }) => name === "mark").length, 4);
    t.match(stored.find(({ name }) => name === "large")?.file, { bytes: 100_002 });
    t.ok(readFileSync(`${home}/results/steps/${stored.find(({ name }) => name === "large")?.file?.sha256}`).length > 0);
  });

  await t.test("a sleeping run holds no engine and no resource, and goes on in the same run", async (t) => {
    const folder = folderOf(t);
    const { id } = await start("sleeper", { folder });
    await reached(id, "Sleeping");
    const asleep = await client.runs.get(id);
    t.match(asleep.state, { type: "Scheduled", name: "Sleeping" });
    const second = await start("sleeper", { folder });
    await reached(second.id, "Sleeping");
    await client.runs.wake(id);
    const { run, result } = await client.waitFor(id);
    t.equal(result, id, run.state.message ?? "");
    t.same(effectsIn(folder).sort(), ["after", "before", "before"]);
    await client.runs.cancel(second.id);
    t.equal((await client.waitFor(second.id)).run.state.name, "Cancelled", "a cancel ends a sleeping run at once");
  });

  await t.test("after a crash no step whose promise had resolved is called again", async (t) => {
    const folder = folderOf(t);
    const { id } = await start("crashing", { folder });
    const rerun = await rerunOf(id);
    const { run, result } = await client.waitFor(rerun);
    t.equal(result, "survived", run.state.message ?? "");
    t.same(effectsIn(folder), ["step 1", "step 2", "step 3", "step 4", "step 5"]);
    const tasks = await client.runs.tasks(rerun);
    t.same(
      tasks.map(({ state }) => state.name),
      Array(6).fill("Cached"),
    );
    t.match(tasks[0]?.state.details, { step: { run_id: id } });
  });

  await t.test("a retry by a person goes on with the results, and calls what failed again", async (t) => {
    const folder = folderOf(t);
    const { id } = await start("failing", { folder });
    t.equal((await client.waitFor(id)).run.state.name, "Failed");
    const again = await client.runs.retry(id);
    const { run, result } = await client.waitFor(again.id);
    t.equal(result, "later", run.state.message ?? "");
    t.same(
      (await client.runs.tasks(again.id)).map(({ name, state }) => `${name} ${state.name}`),
      ["mark Cached", "first run Cached", "fails once Completed"],
    );
    t.same(effectsIn(folder), ["marked"]);
    const whole = await client.runs.retry(id, { from: "start" });
    t.equal((await client.waitFor(whole.id)).run.state.name, "Failed", "nothing is known of the first run");
    t.same(effectsIn(folder), ["marked", "marked"]);
  });

  await t.test("a retry from a task within a task that completed finds the result of the outer task", async (t) => {
    const folder = folderOf(t);
    const { id } = await start("nesting", { folder });
    t.equal((await client.waitFor(id)).run.state.name, "Failed");
    const keys = (await client.runs.tasks(id)).map(({ dynamic_key }) => dynamic_key);
    t.same(keys, ["outer-0", "inner-0"]);
    t.same(effectsIn(folder), ["inner", "outer"]);
    writeFileSync(`${folder}/go`, "");
    const [again, whole] = [await client.runs.retry(id, { from: "inner-0" }), await client.runs.retry(id, { from: "outer-0" })];
    t.equal((await client.waitFor(again.id)).result, 70_000);
    t.same(
      (await client.runs.tasks(again.id)).map(({ name, state }) => `${name} ${state.name}`),
      ["outer Cached"],
    );
    t.equal((await client.waitFor(whole.id)).result, 70_000);
    t.same(effectsIn(folder), ["inner", "outer", "inner", "outer"], "a retry from the outer task calls both");
  });

  await t.test(
    "a large result whose file is missing fails the task with the path, and a retry with the file goes on",
    async (t) => {
      const folder = folderOf(t);
      const { id } = await start("nesting", { folder });
      t.equal((await client.waitFor(id)).run.state.name, "Failed");
      writeFileSync(`${folder}/go`, "");
      const stored = await client.runs.steps(id).first(10);
      const path = `${home}/results/steps/${stored.find(({ name }) => name === "outer")?.file?.sha256}`;
      renameSync(path, `${path}.away`);
      const without = await client.runs.retry(id);
      const { message } = (await client.waitFor(without.id)).run.state;
      t.match(message, /the stored result of step "outer" \(70002 bytes\) cannot be read: ENOENT/);
      t.match(message, path);
      renameSync(`${path}.away`, path);
      const again = await client.runs.retry(without.id);
      t.equal((await client.waitFor(again.id)).result, 70_000);
      t.same(effectsIn(folder), ["inner", "outer"], "no task was called again");
    },
  );

  await t.test("an answer resumes the run where it was", async (t) => {
    const folder = folderOf(t);
    const { id } = await start("asking", { folder });
    await reached(id, "Paused");
    await client.runs.resume(id, 3);
    const { run, result } = await client.waitFor(id);
    t.equal(result, 3, run.state.message ?? "");
    t.same(effectsIn(folder), ["asked", "answered"]);
  });

  await t.test("an event settles the wait that its fields fit, and a wait without one ends with its timeout", async (t) => {
    const folder = folderOf(t);
    const { id } = await start("paying", { folder });
    await reached(id, "AwaitingEvent");
    await client.events.emit({ name: "order.paid", payload: { order: "another" } });
    await client.events.emit({ name: "order.paid", payload: { order: folder, by: "card" } });
    const { run, result } = await client.waitFor(id);
    t.same(result, ["card", true], run.state.message ?? "");
    t.same(effectsIn(folder), ["ordered"]);
  });

  await t.test("a callback takes one answer at its URL, which a resumed run has too", async (t) => {
    const folder = folderOf(t);
    const { id } = await start("calling", { folder });
    await reached(id, "AwaitingEvent");
    const [url = ""] = effectsIn(folder);
    const answer = () =>
      fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ ok: true }) });
    t.equal((await answer()).status, 200);
    t.equal((await answer()).status, 404);
    const { run, result } = await client.waitFor(id);
    t.same(result, { ok: true }, run.state.message ?? "");
    t.equal(new Set(effectsIn(folder)).size, 1);
  });

  await t.test("parents wait for their children outside the engine", async (t) => {
    for (const flow of ["leaf", "middle"]) await client.waitFor((await start(flow, { n: 1 })).id);
    const { id } = await start("parent", { n: 4 });
    const { run, result } = await client.waitFor<{ failed: string; sums: number[] }>(id);
    t.match(
      result,
      { failed: /ChildFailed: run \d+ of .*leaf is Failed: Error: unlucky/, sums: [1, 3, 5, 7] },
      run.state.message ?? "",
    );
  });

  await t.test("a long retry delay is waited for outside the engine, durable or not", async (t) => {
    const { id } = await start("later");
    await reached(id, "AwaitingRetry");
    t.type((await client.runs.get(id)).state.details["wake_at"], "number", "no engine waits for it");
    await client.runs.wake(id);
    const { run, result } = await client.waitFor(id);
    t.equal(result, 2, run.state.message ?? "");
  });

  await t.test("a long sleep of a flow that is not durable is refused", async (t) => {
    const { id } = await start("impatient");
    const { run } = await client.waitFor(id);
    t.match(run.state, { name: "Failed", message: /give flow "impatient" the option durable: true/ });
  });
});

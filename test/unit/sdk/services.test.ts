import t from "tap";
import { artifact, emit, flow, lease, progress, task, variable } from "#sdk/index";
import { runFlow } from "#sdk/testing/index";

const names = (states: { name: string }[]) => states.map((state) => state.name);

t.test("lease() holds resources while its function runs, others wait in line", async (t) => {
  const order: string[] = [];
  const use = async (name: string, amount: number) =>
    await lease({ warehouse: amount }, async () => {
      order.push(`${name} in`);
      await new Promise((resolve) => setImmediate(resolve));
      order.push(`${name} out`);
      return name;
    });
  const recording = await runFlow(
    flow("leases", () => Promise.all([use("a", 2), use("b", 1), use("c", 1)])),
    {},
    { resources: { warehouse: 2 } },
  );
  t.same(recording.result, ["a", "b", "c"]);
  t.same(order.slice(0, 4), ["a in", "a out", "b in", "c in"]);
  t.match(recording.logs, [
    { level: 10, message: "waiting for warehouse" },
    { level: 10, message: "waiting for warehouse" },
  ]);
});

t.test("lease() gives back what it held when the function throws, and takes no part outside a run", async (t) => {
  const failing = async () =>
    await lease({ db: 1 }, () => {
      throw new Error("inside");
    });
  const recording = await runFlow(
    flow("again", async () => {
      await failing().catch(() => undefined);
      return await lease({ db: 1 }, () => "held again");
    }),
  );
  t.equal(recording.result, "held again");
  t.equal(await lease({ db: 1 }, () => 3), 3);
  await t.rejects(
    lease({ db: 0 }, () => 3),
    { name: "RangeError", message: 'the amount of resource "db" is a number above 0, not 0' },
  );
  await t.rejects(
    lease({}, () => 3),
    RangeError,
  );
});

t.test("a task waits for its resources as AwaitingResource", async (t) => {
  const load = task("load", { resources: { db: 1 } }, async (n: number) => n);
  const recording = await runFlow(flow("loads", () => load.map([1, 2])));
  t.same(recording.result, [1, 2]);
  t.same(names(recording.taskRun("load-0").states), ["Pending", "Running", "Completed"]);
  const waited = recording.taskRun("load-1").states;
  t.same(names(waited), ["Pending", "AwaitingResource", "Running", "Completed"]);
  t.match(waited[1], { type: "Scheduled", message: "waiting for db", details: { resource: "db" } });
  t.throws(() => task("bad", { resources: { db: -1 } }, () => 1), RangeError);
});

t.test("in a test, an amount above the total is an error: nothing would end the wait", async (t) => {
  const recording = await runFlow(flow("greedy", () => lease({ gpu: 2 }, () => 1)));
  const message = "RangeError: 2 of gpu are never free: the total is 1 in this test";
  t.match(recording.states.at(-1), { type: "Failed", message });
});

t.test("a task that is cancelled while it waits in line leaves the line", async (t) => {
  const hold = task("hold", { resources: { db: 1 } }, async () => {
    await new Promise((resolve) => setImmediate(resolve));
  });
  const recording = await runFlow(
    flow("leaving", async () => {
      const [first, second, third] = [hold(), hold(), hold()];
      await new Promise((resolve) => setImmediate(resolve));
      second.cancel();
      await second.catch(() => undefined);
      await Promise.all([first, third]);
    }),
  );
  t.equal(recording.state.name, "Completed");
  t.same(
    recording.taskRuns.map(({ state }) => state.name),
    ["Completed", "Cancelled", "Completed"],
  );
});

t.test("emit() records custom events and refuses names that nothing emits", async (t) => {
  const tell = task("tell", () => emit("etl.step", { rows: 3 }));
  const recording = await runFlow(
    flow("emits", async () => {
      await emit("etl.begun");
      await tell();
    }),
  );
  t.same(recording.events, [
    { name: "etl.begun", payload: {}, taskRun: null },
    { name: "etl.step", payload: { rows: 3 }, taskRun: "tell-0" },
  ]);
  t.throws(() => emit("run.fialed"), /did you mean "run.failed"/);
  t.throws(() => emit("run.completed"), { name: "TypeError", message: /only the server records events under "run\."/ });
  t.throws(() => emit("n".repeat(1_001)), /at most 1000 characters/);
  t.throws(() => emit(" "), /event name is required/);
  t.throws(() => emit("etl.step", [1]), {
    name: "TypeError",
    message: 'the payload of event "etl.step" is an object, such as { rows: 3 }',
  });
});

t.test("variables are read, set and removed", async (t) => {
  const recording = await runFlow(
    flow("counts", async () => {
      const count = await variable.get("count", 0);
      await variable.set("count", count + 1);
      await variable.set("gone/soon", null);
      const stored = await variable.get("gone/soon", "none");
      return [await variable.get("missing"), stored, await variable.remove("gone/soon"), await variable.remove("gone/soon")];
    }),
    {},
    { variables: { count: 41 } },
  );
  t.same(recording.result, [null, null, true, false]);
  t.same([...recording.variables], [["count", 42]]);
  await t.rejects(
    variable.set("x", () => 1),
    { name: "TypeError", message: /"x" has no JSON form/ },
  );
});

t.test("artifacts resolve to their ids, and are checked where they are made", async (t) => {
  const recording = await runFlow(
    flow("publishes", async () => {
      const id = await artifact.link("docs", "https://example.org/");
      await artifact.table("rows", [{ a: 1 }], { key: "k", run: 1 });
      return id;
    }),
  );
  t.equal(recording.artifacts[0]?.id, recording.result);
  t.match(recording.artifacts[1], { kind: "table", key: "k" });
  t.throws(() => artifact.markdown("large", "x".repeat(1_048_577)), { name: "RangeError", message: /exceeds 1 MB/ });
  t.throws(() => artifact.progress("half", Number.NaN), { name: "TypeError", message: /data of a progress artifact: value/ });
});

t.test("outside a run an artifact is only shown", async (t) => {
  const shown = t.capture(console, "info", () => undefined);
  t.type(await artifact.markdown("title", "text"), "string");
  t.match(shown(), [{ args: ["markdown artifact, kept inside a run only:", { title: "title", text: "text" }] }]);
  progress(50);
});

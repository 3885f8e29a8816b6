import t from "tap";
import type { Queue } from "#protocol/records/queue";
import { DispatchKit, START_US } from "../../../support/dispatch-kit.ts";
import { createId, poll, startRun } from "../../../support/dispatch-steps.ts";

const SECOND_US = 1_000_000;

function queueOf(kit: DispatchKit): Queue {
  return kit.send("GetQueue").reply?.body as unknown as Queue;
}

t.test("reasons are counted over all that waits, most runs first, each line once", async (t) => {
  const kit = new DispatchKit({ settings: { resourceTotals: new Map([["disk", 1]]) } });
  const holds = { flow: "copy", options: { resources: { disk: 1 } } };
  startRun(kit, "e1", holds);
  kit.nowUs += SECOND_US;
  // A free engine makes the run discover that the resource is taken.
  const blocked = [createId(kit, holds), createId(kit, holds)];
  kit.send("Work", { body: { engine_id: "e2", pid: 2, source_dir: "/flows", module: "jobs.py", wait_ms: 30_000 }, local: true });
  kit.nowUs += SECOND_US;
  const others = [1, 2, 3].map(() => createId(kit, { flow: "other", module: "other.py" }));
  const { waiting, reasons, runs } = queueOf(kit);
  t.equal(waiting, blocked.length + others.length);
  t.match(reasons, [
    { code: "no_engine_for_module", object: "other.py", count: 3, retries: false, since: START_US + 2 * SECOND_US, due: null },
    { code: "resource", object: "disk", count: 2, retries: false, since: START_US + SECOND_US, due: null },
  ]);
  t.same(
    reasons.reduce((sum, { count }) => sum + count, 0),
    runs.length,
    "no run is left out",
  );
});

t.test("runs that wait for their next attempt are a reason of their own, with the first time that is due", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "e1", { options: { retries: 2 } });
  kit.send("TransitionRun", {
    target: id,
    body: { type: "Scheduled", name: "AwaitingRetry", message: "again", details: {}, force: true },
  });
  const [reason, ...more] = queueOf(kit).reasons;
  t.same(more, []);
  t.match(reason, { count: 1, retries: true });
});

t.test("with more runs than the list holds, the first are listed, each with the place that its explanation gives", async (t) => {
  const kit = new DispatchKit({ settings: { resourceTotals: new Map([["disk", 1]]) } });
  startRun(kit, "e0", { flow: "copy", options: { resources: { disk: 1 } } });
  const flows = [
    { flow: "copy", options: { resources: { disk: 1 } } },
    { flow: "first", options: { priority: 3 } },
    { flow: "other", module: "other.py" },
    { flow: "last", options: { priority: -1 } },
  ];
  for (let index = 0; index < 600; index += 1) {
    createId(kit, flows[(index * 7) % 4]);
    kit.nowUs += 1;
  }
  poll(kit, "e9", { wait_ms: 30_000, module: "unknown.py" });
  const { waiting, runs, reasons, resources } = queueOf(kit);
  t.equal(waiting, 600);
  t.equal(runs.length, 500);
  t.equal(
    reasons.reduce((sum, { count }) => sum + count, 0),
    600,
  );
  const order = [...runs].sort((a, b) => b.priority - a.priority || a.run_id - b.run_id);
  t.same(runs, order, "highest priority first, then the oldest");
  t.equal(runs.filter(({ priority }) => priority === 3).length, 150, "none of them is left out");
  t.equal(resources.find(({ name }) => name === "disk")?.waiting, reasons.find(({ object }) => object === "disk")?.count ?? 0);
  for (const listed of [...runs.slice(0, 5), ...runs.slice(240, 260), ...runs.slice(-5)]) {
    const explained = kit.send("ExplainRun", { target: listed.run_id }).reply?.body;
    t.same([explained?.["place"], explained?.["reason"]], [listed.place, listed.reason], `run ${listed.run_id}`);
  }
});

t.test("a run that has ended is explained without its task runs, of which there may be many", async (t) => {
  const former = new DispatchKit();
  const id = startRun(former, "e1");
  const run = former.state.findRun(id);
  t.ok(run !== undefined);
  const kit = new DispatchKit({ stored: new Map(run === undefined ? [] : [[id, run]]) });
  kit.state.nextIds.run = id + 1;
  t.match(kit.send("ExplainRun", { target: id }).reply?.body, { run_id: id, place: null });
  t.same(kit.readWhole, []);
});

import t from "tap";
import type { Queue } from "#protocol/queue";
import { DispatchKit, START_US } from "../support/dispatch-kit.ts";
import { createId, startRun } from "../support/dispatch-steps.ts";

const SECOND_US = 1_000_000;

function queueOf(kit: DispatchKit): Queue {
  return kit.send("GetQueue").reply?.body as unknown as Queue;
}

t.test("reasons are counted over all that waits, most runs first, each line once", async (t) => {
  const kit = new DispatchKit({ settings: { resourceTotals: new Map([["disk", 1]]) } });
  const holds = { flow: "copy", options: { resources: { disk: 1 } } };
  startRun(kit, "e1", holds);
  kit.nowUs += SECOND_US;
  // An engine that is free finds that the resource is not.
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

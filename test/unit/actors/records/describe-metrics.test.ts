import t from "tap";
import type { CoreFigures } from "#protocol/wire/figures";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { createId, startRun } from "../../../support/dispatch-steps.ts";

function figuresOf(kit: DispatchKit): CoreFigures {
  return kit.send("GetMetrics").reply?.body as unknown as CoreFigures;
}

const POLL = { pid: 2, source_dir: "/flows", module: "jobs.py", wait_ms: 30_000 };

t.test("waiting runs are counted by place, as they enter and leave it", async (t) => {
  const kit = new DispatchKit({ settings: { resourceTotals: new Map([["disk", 1]]) } });
  const holds = { flow: "copy", options: { resources: { disk: 1 } } };
  startRun(kit, "e1", holds);
  const blocked = [createId(kit, holds), createId(kit, holds)];
  // A free engine makes the runs discover that the resource is taken.
  kit.send("Work", { body: { engine_id: "e2", ...POLL }, local: true });
  createId(kit, { flow: "other", module: "other.py" });
  const figures = figuresOf(kit);
  t.same(figures.queue, { ready: 1, blocked: 2, behind: 0, future: 0, held: 0 });
  t.match(figures.resources, [{ name: "disk", total: 1, used: 1 }]);
  t.match(figures.engines, { count: 2, busy: 1, runs: 1 });
  t.same(figures.polls, { count: 1, slots: 1 });
  t.equal(figures.flows.length, 2);
  for (const id of blocked) kit.send("CancelRun", { target: id });
  t.same(figuresOf(kit).queue, { ready: 1, blocked: 0, behind: 0, future: 0, held: 0 });
});

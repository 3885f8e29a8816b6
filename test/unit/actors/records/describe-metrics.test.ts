import t from "tap";
import { METRIC_ENGINES_MAX } from "#protocol/limits";
import type { CoreFigures, DurationFigures } from "#protocol/wire/figures";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { createId, move, poll, startRun, workOf } from "../../../support/dispatch-steps.ts";

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

const counted = ({ counts }: DurationFigures): number => counts.reduce((sum, count) => sum + count, 0);

t.test("the waits of a run are counted by stage: until its hand-out, until its start, and how late that is", async (t) => {
  const kit = new DispatchKit();
  move(kit, createId(kit), "Cancelled");
  kit.send("CreateSchedule", { target: 1, body: { kind: "interval", interval: 3_600, anchor: kit.nowUs } });
  kit.pass(3_603e6);
  const [run = 0] = kit.state.runs.keys();
  t.equal(workOf(poll(kit, "e1"))?.["run_id"], run, "handed out 3 s after its time");
  kit.pass(2e6);
  move(kit, run, "Pending");
  move(kit, run, "Running");
  const figures = figuresOf(kit);
  t.match([figures.queue_wait, figures.dispatch, figures.lateness].map(counted), [1, 1, 1]);
  t.match([figures.queue_wait, figures.dispatch, figures.lateness], [{ sum_us: 3e6 }, { sum_us: 2e6 }, { sum_us: 5e6 }]);
});

t.test("a run without a scheduled time is never late, and a hand-out that is taken back starts nothing", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit, "e1");
  const back = createId(kit);
  poll(kit, "e2");
  kit.send("TransitionRun", { target: back, body: { type: "Scheduled", force: true } });
  t.match(figuresOf(kit).lateness, { sum_us: 0 });
  const { queue_wait, dispatch, lateness } = figuresOf(kit);
  t.same([queue_wait, dispatch, lateness].map(counted), [2, 1, 0], `of run ${run} and run ${back}`);
});

t.test("engines beyond those with series of their own are summed", async (t) => {
  const kit = new DispatchKit();
  startRun(kit, "e0");
  for (let index = 1; index < METRIC_ENGINES_MAX + 5; index += 1) {
    kit.pass(1_000);
    poll(kit, `e${index}`);
  }
  const { engine_slots } = figuresOf(kit);
  t.equal(engine_slots.length, METRIC_ENGINES_MAX + 1);
  t.same(engine_slots[0], { engine: "e0", busy: 1, free: 0 });
  t.same(engine_slots[1], { engine: "e1", busy: 0, free: 1 });
  t.same(engine_slots.at(-1), { engine: "other", busy: 0, free: 5 });
});

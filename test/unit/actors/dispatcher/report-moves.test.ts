/** Moves of a run inside reports. */
import t from "tap";
import { eventNames, operations } from "../../../support/decision-record.ts";
import { DispatchKit, START_US } from "../../../support/dispatch-kit.ts";
import { createId, move, poll, report, startRun, workOf } from "../../../support/dispatch-steps.ts";

const LEASED = { owns_stop: true };

const moveTo = (seq: number, type: string, more: object = {}) => ({
  kind: "run_transition",
  seq,
  state: { type, timestamp: START_US + seq, ...more },
});
const custom = (seq: number) => ({ kind: "custom", seq, name: "step", payload: {} });

/** A run held by an engine that ends runs itself, not yet moved. */
function take(kit: DispatchKit) {
  const run = createId(kit);
  const item = workOf(poll(kit, "e1", LEASED));
  return { run, lease: Number(item?.["lease"]), item };
}

t.test("engines that hold a lease are told that reports may move their run; others are not", async (t) => {
  const kit = new DispatchKit();
  t.match(take(kit).item, { lease: Number, run_transitions: true });
  createId(kit);
  t.equal("run_transitions" in (workOf(poll(kit, "e2")) ?? {}), false);
});

t.test("Pending, Running, what happened, Completed: two reports, each one decision, with the events of every move", async (t) => {
  const kit = new DispatchKit();
  const { run, lease } = take(kit);
  const began = report(kit, run, [moveTo(1, "Pending"), moveTo(2, "Running")], { lease });
  t.match(began.reply, {
    status: 200,
    body: { applied: 2, last_seq: 2, run_state: { type: "Running", timestamp: START_US + 2 } },
  });
  t.same(eventNames(began), ["run.pending", "run.running"]);
  t.equal(operations(began, "update_run").length, 1);
  const ended = report(kit, run, [custom(3), moveTo(4, "Completed", { details: { result: 7 } })], { lease });
  t.match(ended.reply?.body, { applied: 2, run_state: { type: "Completed", name: "Completed", timestamp: START_US + 4 } });
  t.same(eventNames(ended), ["step", "run.completed"]);
  t.match(kit.run(run), { start_time: START_US + 2, end_time: START_US + 4, assigned: false, state: { details: { result: 7 } } });
});

t.test("a repeated report moves nothing and returns the same state", async (t) => {
  const kit = new DispatchKit();
  const { run, lease } = take(kit);
  const events = [moveTo(1, "Running"), moveTo(2, "Completed")];
  const first = report(kit, run, events, { lease });
  const again = report(kit, run, events, { lease });
  t.match(again.reply?.body, { applied: 0, skipped: 2, run_state: first.reply?.body["run_state"] });
  t.same(eventNames(again), []);
});

t.test("a move that the table refuses changes nothing; the answer shows where the run is", async (t) => {
  const kit = new DispatchKit();
  const { run, lease } = take(kit);
  report(kit, run, [moveTo(1, "Running")], { lease });
  kit.send("CancelRun", { target: run });
  const refused = report(kit, run, [moveTo(2, "Completed")], { lease });
  t.match(refused.reply?.body, { applied: 1, cancel: true, run_state: { type: "Cancelling" } });
  t.same(eventNames(refused), []);
  const ended = report(kit, run, [moveTo(3, "Cancelled")], { lease });
  t.match(ended.reply?.body, { cancel: false, run_state: { type: "Cancelled" } });
});

t.test("without a lease, under one that is over, and after a pause nothing moves", async (t) => {
  const kit = new DispatchKit();
  const { run, lease } = take(kit);
  t.match(report(kit, run, [moveTo(1, "Running")]).reply?.body, { applied: 0, run_state: { type: "Scheduled" } });
  t.match(report(kit, run, [moveTo(2, "Running")], { lease: lease + 1 }).reply?.body, {
    applied: 0,
    run_state: { type: "Scheduled" },
  });
  t.match(report(kit, run, [moveTo(3, "Running"), moveTo(4, "Paused"), moveTo(5, "Running")], { lease }).reply?.body, {
    run_state: { type: "Paused", timestamp: START_US + 4 },
  });
});

t.test("a crash that the engine reports is run again", async (t) => {
  const kit = new DispatchKit();
  const { run, lease } = take(kit);
  const crashed = report(kit, run, [moveTo(1, "Running"), moveTo(2, "Crashed", { message: "out of memory" })], { lease });
  t.match(kit.run(run).state, { type: "Crashed", message: "out of memory" });
  t.equal(operations(crashed, "put_rerun").length, 1);
});

t.test("a report without moves is answered as before", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit, "e1", {}, LEASED);
  t.strictSame(report(kit, run, [custom(1)]).reply?.body, { applied: 1, skipped: 0, last_seq: 1, cancel: false });
  move(kit, run, "Completed");
});

/** The bound of unfinished runs: which requests are refused beyond it, and how runs created by schedules or other runs end. */
import t from "tap";
import { unfinishedRunsIn } from "#actors/core/state/run-room";
import { eventNames, operations } from "../../../support/decision-record.ts";
import { DispatchKit, START_US } from "../../../support/dispatch-kit.ts";
import { create, createId, move, poll, report, reportTasks, startRun } from "../../../support/dispatch-steps.ts";

const SECOND_US = 1_000_000;
const DAY_SCHEMA = { type: "object", properties: { day: { type: "string", format: "date" } } };
const NO_ROOM = /^no room for another run: \d+ may be unfinished \(\[server\] max_unfinished_runs\); try again/;

/** A server with room for `unfinishedRunsMax` unfinished runs. */
function roomFor(unfinishedRunsMax: number): DispatchKit {
  return new DispatchKit({ settings: { unfinishedRunsMax } });
}

t.test("beyond the bound a creation is refused with 503 until a run has ended; paused and running ones count", async (t) => {
  const kit = roomFor(3);
  const running = startRun(kit);
  const paused = createId(kit);
  move(kit, paused, "Paused");
  const waiting = createId(kit);
  const refused = create(kit, { flow: "never-registered" });
  t.match(refused.reply, { status: 503, body: { error: NO_ROOM } });
  t.same(refused.ops, [], "nothing is stored, the flow neither");
  t.equal(kit.send("CreateFlowRun", { target: 1, body: {} }).reply?.status, 503);
  move(kit, waiting, "Cancelled");
  t.equal(create(kit).reply?.status, 201, "one has ended");
  t.equal(create(kit).reply?.status, 503);
  kit.send("DeleteRun", { target: running });
  t.equal(create(kit).reply?.status, 201, "one was deleted");
  t.equal(kit.send("RetryRun", { target: waiting }).reply?.status, 503);
  const revived = move(kit, waiting, "Scheduled", { force: true });
  t.match(revived.reply, { status: 503 }, "setting an ended run going again is a further run");
  t.equal(kit.run(waiting).state.type, "Cancelled");
});

t.test("a refusal for lack of room is not kept under an Idempotency-Key", async (t) => {
  const kit = roomFor(1);
  const first = createId(kit);
  const idempotency = { key: "k", fingerprint: "f" };
  const body = { project: "shop", flow: "job" };
  t.equal(kit.send("CreateRun", { body, idempotency }).reply?.status, 503);
  move(kit, first, "Cancelled");
  t.equal(kit.send("CreateRun", { body, idempotency }).reply?.status, 201);
});

t.test("a backfill needs room for all of its runs", async (t) => {
  const kit = roomFor(4);
  const seed = createId(kit, { parameter_schema: DAY_SCHEMA });
  const days = (end: string) => kit.send("CreateBackfill", { target: 1, body: { parameter: "day", start: "2026-01-01", end } });
  const refused = days("2026-01-04");
  t.match(refused.reply, { status: 503, body: { error: /^no room for 4 more runs: 4 may be unfinished/ } });
  t.same(operations(refused, "put_backfill"), []);
  t.equal(days("2026-01-03").reply?.status, 201);
  t.equal(create(kit).reply?.status, 503);
  t.ok(kit.run(seed));
});

t.test("what a run holds beyond the usual counts as further runs, until it ends", async (t) => {
  const kit = roomFor(10);
  const tags = Array.from({ length: 5 }, (_, index) => `${index}${"x".repeat(999)}`);
  const large = createId(kit, { tags });
  t.equal(kit.state.room.taken, 4);
  move(kit, large, "Cancelled");
  t.equal(kit.state.room.taken, 0);
  const run = startRun(kit);
  reportTasks(
    kit,
    run,
    Array.from({ length: 8 }, () => "Running"),
  );
  t.equal(kit.state.room.taken, 5, "task runs");
  move(kit, run, "Completed");
  t.equal(kit.state.room.taken, 0);
});

t.test("a fire that meets the bound fails its run, which says why and can be retried", async (t) => {
  const kit = roomFor(2);
  const seed = createId(kit);
  move(kit, seed, "Cancelled");
  const filling = createId(kit);
  createId(kit);
  kit.send("CreateSchedule", { target: 1, body: { kind: "interval", interval: 60, anchor: START_US } });
  t.equal(kit.state.room.taken, 2, "no run is laid out ahead where there is no room");
  const fired = kit.pass(61 * SECOND_US);
  const [made] = operations(fired, "insert_run");
  t.match(made, { state_type: "Failed", scheduled_time: START_US + 60 * SECOND_US, created_by: "schedule" });
  t.match(String(made?.["state_message"]), NO_ROOM);
  t.same(eventNames(fired), ["run.scheduled", "run.failed"]);
  t.equal(kit.state.room.taken, 2);
  move(kit, filling, "Cancelled");
  t.equal(kit.send("RetryRun", { target: Number(made?.["id"]) }).reply?.status, 201);
});

t.test("the run of a flow that follows another fails when there is no room, and so is not taken for completed", async (t) => {
  const kit = roomFor(2);
  const upstream = startRun(kit);
  const filling = createId(kit, { flow: "filling" });
  for (const [flow, after] of [
    ["second", "job"],
    ["third", "second"],
  ] as const) {
    move(kit, filling, "Cancelled", { force: true });
    move(kit, createId(kit, { flow, options: { after: { flow: after } } }), "Cancelled");
    move(kit, filling, "Scheduled", { force: true });
  }
  // The upstream run frees its place, which another run takes at the same moment.
  tagsFill(kit, filling);
  const completed = move(kit, upstream, "Completed");
  const made = operations(completed, "insert_run");
  t.match(made, [{ state_type: "Failed" }], "the third is not created");
});

/** Makes a run take a second place, through large state details. */
function tagsFill(kit: DispatchKit, run: number): void {
  move(kit, run, "Paused", { details: { text: "x".repeat(2_000) } });
}

t.test("the rerun of a crashed run keeps its place", async (t) => {
  const kit = roomFor(1);
  const run = startRun(kit);
  kit.tell({ kind: "EngineGone", engine_id: "e1", cause: null });
  t.equal(kit.run(run).state.type, "Crashed");
  t.equal(create(kit).reply?.status, 503);
  const [rerun] = operations(kit.pass(15 * SECOND_US), "insert_run");
  t.match(rerun, { state_type: "Scheduled", parent_run_id: run });
  t.equal(kit.state.room.taken, 1);
});

t.test("the bound follows from the heap, and is never nothing", async (t) => {
  t.equal(unfinishedRunsIn(600 * 1024 * 1024), 157_000);
  t.equal(unfinishedRunsIn(0), 1_000);
});

t.test("ended runs are kept in memory by what they hold, not by their number alone", async (t) => {
  const kit = new DispatchKit();
  const ended: number[] = [];
  for (let count = 0; count < 30; count += 1) {
    const run = startRun(kit, "e1", {}, { pid: 1000 });
    const external = (index: number) => `11111111-1111-7111-8111-${String(index).padStart(12, "0")}`;
    const tasks = Array.from({ length: 2_000 }, (_, index) => {
      const task = { name: "t", task_key: "t", dynamic_key: `t-${index}`, external_id: external(index) };
      return { kind: "task_run_created", seq: index + 1, ...task };
    });
    report(kit, run, tasks);
    move(kit, run, "Completed");
    ended.push(run);
    poll(kit, "e1", { wait_ms: 0 });
  }
  kit.pass(SECOND_US);
  const kept = kit.state.endedRuns().length;
  t.ok(kept >= 1 && kept < 30, `${kept} of ${ended.length}`);
});

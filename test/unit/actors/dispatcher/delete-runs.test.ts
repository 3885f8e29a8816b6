import t from "tap";
import type { Run } from "#actors/core/state/run";
import { STATE_TYPES } from "#protocol/records/state";
import { eventNames, operations } from "../../../support/decision-record.ts";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { createId, move, poll, report, startRun, workOf } from "../../../support/dispatch-steps.ts";

t.test("a run in any state can be deleted; the counts end at zero", async (t) => {
  for (const type of STATE_TYPES) {
    const kit = new DispatchKit();
    const id = startRun(kit);
    if (type !== "Running") move(kit, id, type, { force: true });
    const external_id = "11111111-1111-7111-8111-111111111111";
    const counted = [
      report(kit, id, [{ kind: "task_run_created", seq: 1, external_id, name: "t", task_key: "t", dynamic_key: "t" }]),
    ];
    const deleted = kit.send("DeleteRun", { target: id });
    counted.push(deleted);
    t.equal(deleted.reply?.status, 204, type);
    t.same(deleted.reply?.body, {});
    t.match(operations(deleted, "delete_run"), [{ id }]);
    t.match(deleted.stream.at(-1) ?? deleted.stream, { kind: /./ });
    t.ok(deleted.stream.some(({ kind, id: row }) => kind === "run.deleted" && row === id));
    const tasks = counted.flatMap((outcome) => operations(outcome, "count_task_runs"));
    t.equal(
      tasks.reduce((sum, { delta }) => sum + Number(delta), 0),
      0,
      "task runs are counted truthfully",
    );
    t.equal(kit.send("DeleteRun", { target: id }).reply?.status, 404);
    t.match(report(kit, id, []).reply, { status: 404 });
    t.equal(move(kit, id, "Completed").reply?.status, 404);
    t.match(kit.send("Heartbeat", { body: { engine_id: "e1", run_id: id } }).reply?.body, { cancel: false, active: false });
  }
});

t.test("what a live run held is free at once", async (t) => {
  const kit = new DispatchKit();
  const held = startRun(kit, "e1", { options: { resources: { db: 1 } } });
  const next = createId(kit);
  const parked = poll(kit, "e2");
  t.equal(workOf(parked), null);
  const deleted = kit.send("DeleteRun", { target: held });
  t.same(eventNames(deleted), ["run.cancelled"]);
  t.equal(workOf(deleted, parked.command)?.["run_id"], next);
});

t.test("a deleted run is not read from the store again before the delete is committed", async (t) => {
  const stored = new Map<number, Run>();
  const kit = new DispatchKit({ stored });
  const id = startRun(kit);
  stored.set(id, { ...kit.run(id) });
  kit.committed = 0;
  kit.send("DeleteRun", { target: id });
  t.equal(report(kit, id, []).reply?.status, 404);
  t.equal(move(kit, id, "Completed").reply?.status, 404);
  t.equal(kit.send("DeleteRun", { target: id }).reply?.status, 404);
});

t.test("a flow goes with its runs; none of them is handed out on the way", async (t) => {
  const kit = new DispatchKit();
  startRun(kit, "e1", { options: { max_concurrent: 1 } });
  createId(kit);
  createId(kit);
  const other = createId(kit, { flow: "other" });
  const parked = poll(kit, "e2");
  t.equal(workOf(parked)?.["run_id"], other);
  const second = poll(kit, "e3");
  const deleted = kit.send("DeleteFlow", { target: 1 });
  t.equal(deleted.reply?.status, 204);
  t.equal(workOf(deleted, second.command), null);
  t.equal(kit.state.queue.waiting, 0);
  t.match(operations(deleted, "delete_flow"), [{ id: 1 }]);
  t.same(
    kit.state.ledger.list().filter(({ used }) => used > 0),
    [],
  );
  t.same([...kit.state.runs.keys()], [other]);
});

t.test("a live flow stays, an unknown one is not found", async (t) => {
  const kit = new DispatchKit();
  createId(kit);
  const flow = kit.state.flows.get(1);
  if (flow !== undefined) flow.live = true;
  t.equal(kit.send("DeleteFlow", { target: 1 }).reply?.status, 409);
  t.equal(kit.send("DeleteFlow", { target: 2 }).reply?.status, 404);
  t.equal(kit.send("DeleteRun", { target: 99 }).reply?.status, 404);
});

t.test("the rerun of a deleted run does not come", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit);
  kit.tell({ kind: "EngineGone", engine_id: "e1", cause: null });
  kit.send("DeleteRun", { target: id });
  kit.pass(60_000_000);
  t.equal(kit.state.runs.size, 0);
});

/** What a run keeps of the fire that it is for: over crash reruns, retries of a person, and reloads. */
import t from "tap";
import { operations } from "../../../support/decision-record.ts";
import { DispatchKit, START_US } from "../../../support/dispatch-kit.ts";
import { createId, move, poll, startRun, workOf } from "../../../support/dispatch-steps.ts";

const SECOND_US = 1_000_000;
const FIRE_US = START_US + 60 * SECOND_US;
const everyMinute = { kind: "interval", interval: 60, anchor: START_US };

/** A kit in which the run of a fire is handed out. */
function firedRun() {
  const kit = new DispatchKit();
  move(kit, createId(kit, { flow_tags: ["etl"] }), "Cancelled");
  kit.send("CreateSchedule", { target: 1, body: everyMinute });
  const parked = poll(kit, "e1", { owns_stop: true });
  kit.pass(59 * SECOND_US);
  const item = workOf(kit.pass(2 * SECOND_US), parked.command);
  const id = Number(item?.["run_id"]);
  return { kit, item, id };
}

t.test("a work item names the fire, its schedule, the creator, the tags and the attempt", async (t) => {
  const { item } = firedRun();
  t.match(item, {
    fire_time: FIRE_US,
    schedule: { id: 1, key: null },
    created_by: "schedule",
    tags: ["etl"],
    attempt: 0,
  });
  t.notOk("lineage_id" in (item ?? {}), "neither durable nor a child");
});

t.test("a crash rerun keeps the fire time and the schedule of the run that it repeats, also one of a rerun", async (t) => {
  const { kit, id } = firedRun();
  let crashed = id;
  for (const attempt of [1, 2]) {
    move(kit, crashed, "Pending");
    move(kit, crashed, "Running");
    kit.tell({ kind: "EngineGone", engine_id: `e${attempt}`, cause: null });
    const created = operations(kit.pass(30 * SECOND_US), "insert_run").find((run) => run["parent_run_id"] === crashed);
    t.match(created, { fire_time: FIRE_US, scheduled_time: null, schedule_id: 1, created_by: `crash:${crashed}` });
    crashed = Number(created?.["id"]);
    const polled = poll(kit, `e${attempt + 1}`, { owns_stop: true, run_id: crashed });
    t.match(workOf(polled), { run_id: crashed, fire_time: FIRE_US, schedule: { id: 1 }, attempt });
  }
});

t.test("a retry by a person keeps the fire time and the schedule, and no other run of the fire is created", async (t) => {
  const { kit, id } = firedRun();
  move(kit, id, "Pending");
  move(kit, id, "Running");
  move(kit, id, "Failed");
  const retry = kit.send("RetryRun", { target: id, body: null });
  t.match(retry.reply, { status: 201, body: { fire_time: FIRE_US, schedule_id: 1, scheduled_time: null, parent_run_id: id } });
  t.match(operations(retry, "insert_run"), [{ fire_time: FIRE_US, schedule_id: 1 }]);
  const again = Number(retry.reply?.body["id"]);
  move(kit, again, "Cancelled");
  t.match(kit.send("RetryRun", { target: again, body: null }).reply?.body, { fire_time: FIRE_US }, "a retry of a retry too");
});

t.test("a run without a schedule has no fire, nor has its retry", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit);
  move(kit, id, "Failed");
  const retry = kit.send("RetryRun", { target: id, body: null });
  t.notOk("fire_time" in (retry.reply?.body ?? {}));
  t.match(operations(retry, "insert_run"), [{ fire_time: null, schedule_id: null }]);
});

/** Schedules and waits when the wall clock is set, the machine sleeps, or a step falls between a fire and its decision. */
import t from "tap";
import { RecurrenceFires } from "#actors/scheduler/recurrence/rrule";
import { parseRecurrence } from "#actors/scheduler/recurrence/rrule-parse";
import { findZone } from "#actors/scheduler/recurrence/zone";
import { operations } from "../../../support/decision-record.ts";
import { DispatchKit, type KitOptions, type Outcome, START_US } from "../../../support/dispatch-kit.ts";
import { createId, MODULE, move, poll, SOURCE_DIR, startRun, workOf } from "../../../support/dispatch-steps.ts";

const SECOND = 1_000_000;
const HOUR = 3600 * SECOND;

function scheduled(body: Record<string, unknown>, options: KitOptions = {}): { kit: DispatchKit; made: Outcome; id: number } {
  const kit = new DispatchKit(options);
  move(kit, createId(kit), "Cancelled");
  const made = kit.send("CreateSchedule", { target: 1, body });
  return { kit, made, id: Number(made.reply?.body["id"]) };
}

function catchUpsOf(outcome: Outcome): unknown[] {
  const events = operations(outcome, "insert_event").filter(({ name }) => name === "schedule.catchup");
  return events.map(({ payload }) => JSON.parse(String(payload)) as unknown);
}

t.test("a server that was started on a fast clock misses no fire of a schedule made after the clock was set right", async (t) => {
  const kit = new DispatchKit();
  kit.uptimeUs = 5 * SECOND;
  move(kit, createId(kit), "Cancelled");
  kit.nowUs -= HOUR;
  const made = kit.send("CreateSchedule", {
    target: 1,
    body: { kind: "interval", interval: 600, anchor: kit.nowUs + 2 * SECOND },
  });
  const parked = poll(kit, "e1");
  const due = kit.pass(3 * SECOND);
  t.same(catchUpsOf(due), []);
  t.match(workOf(due, parked.command), { run_id: Number(operations(made, "insert_run")[0]?.["id"]) });
});

t.test("what a fire lays out is laid out five seconds before it, so that the fire itself only starts its run", async (t) => {
  for (const interval of [86_400, 3600, 600]) {
    const { kit, made } = scheduled({ kind: "interval", interval, anchor: START_US + 10 * SECOND });
    t.equal(operations(kit.pass(4 * SECOND), "insert_run").length, 0);
    t.equal(operations(kit.pass(2 * SECOND), "insert_run").length, 1, `every ${interval} s`);
    const fired = kit.pass(5 * SECOND);
    t.equal(operations(fired, "insert_run").length, 0);
    t.equal(operations(fired, "put_schedule").length, 1);
    t.match(workOf(poll(kit, "e1")), { run_id: Number(operations(made, "insert_run")[0]?.["id"]) });
  }
});

t.test("fires from before the start were missed, also when that was less than a minute ago", async (t) => {
  const { kit } = scheduled({ kind: "interval", interval: 3600, anchor: START_US + 10 * SECOND, catchup: "skip" });
  kit.nowUs += 30 * SECOND;
  kit.uptimeUs = SECOND;
  t.match(catchUpsOf(kit.pass(SECOND)), [{ missed: 1, created: 0, dropped: 1 }]);
});

t.test("a fire that was decided is due, also after the clock was set back and its run waits again", async (t) => {
  const { kit, made } = scheduled({ kind: "interval", interval: 3600, anchor: START_US + 10 * SECOND });
  kit.pass(11 * SECOND);
  kit.nowUs -= HOUR;
  // A change of the flow's options moves its waiting runs to their current place.
  const first = Number(operations(made, "insert_run")[0]?.["id"]);
  createId(kit, { options: { priority: 1 } });
  const given = [poll(kit, "e1"), poll(kit, "e2")].map((outcome) => workOf(outcome)?.["run_id"]);
  t.ok(given.includes(first), "it does not wait for its time to come again");
});

t.test("an edit in the moment of a fire: the fire is decided by what the schedule was", async (t) => {
  const { kit, made, id } = scheduled({ kind: "interval", interval: 3600, anchor: START_US + 10 * SECOND });
  const first = Number(operations(made, "insert_run")[0]?.["id"]);
  // The command is handled before the due timer.
  kit.nowUs += 10 * SECOND;
  kit.send("PatchSchedule", { target: id, body: { interval: 7200 } });
  t.match(workOf(poll(kit, "e1")), { run_id: first });
});

t.test("deleting a run that was ended before its time skips its fire, also after a restart", async (t) => {
  const { kit, made, id } = scheduled({ kind: "interval", interval: 3600, anchor: START_US + 10 * SECOND });
  const first = Number(operations(made, "insert_run")[0]?.["id"]);
  kit.send("CancelRun", { target: first });
  const schedule = kit.state.schedules.get(id);
  // As after a load: of an ended run only its fire is known.
  schedule?.runs.delete(START_US + 10 * SECOND);
  schedule?.ended.add(START_US + 10 * SECOND);
  t.match(operations(kit.send("DeleteRun", { target: first }), "put_skip"), [
    { fire: START_US + 10 * SECOND, skipped_by: "delete" },
  ]);
});

t.test("a run set going under a paused schedule starts when the schedule is resumed after its time", async (t) => {
  const { kit, id, made } = scheduled({ kind: "interval", interval: 600, anchor: START_US + 10 * SECOND });
  const first = Number(operations(made, "insert_run")[0]?.["id"]);
  move(kit, first, "Cancelled");
  kit.send("PauseSchedule", { target: id });
  move(kit, first, "Scheduled", { force: true });
  const parked = poll(kit, "e1");
  kit.pass(HOUR);
  const resumed = kit.send("ResumeSchedule", { target: id });
  t.match(workOf(resumed, parked.command), { run_id: first });
});

t.test("a run to come that was ended and brought back starts at its time, also after a restart", async (t) => {
  const { kit, made, id } = scheduled({ kind: "interval", interval: 3600, anchor: START_US + 10 * SECOND });
  const first = Number(operations(made, "insert_run")[0]?.["id"]);
  kit.send("CancelRun", { target: first });
  const schedule = kit.state.schedules.get(id);
  schedule?.runs.delete(START_US + 10 * SECOND);
  schedule?.ended.add(START_US + 10 * SECOND);
  move(kit, first, "Scheduled", { force: true });
  kit.pass(11 * SECOND);
  t.match(workOf(poll(kit, "e1")), { run_id: first });
});

t.test("a rule that missed more fires than a call may have arguments", async (t) => {
  const rule = parseRecurrence("DTSTART:20260101T000000Z\nRRULE:FREQ=MINUTELY");
  const zone = findZone("UTC");
  if (zone === null) throw new Error("UTC is not known");
  t.equal(new RecurrenceFires(rule, zone).after(START_US, 150_000).length, 150_000);
});

t.test("time that the machine sleeps is no time of a run", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "e1", { options: { timeout_seconds: 60 } }, { owns_stop: false });
  kit.pass(50 * SECOND);
  kit.nowUs += 8 * HOUR;
  kit.pass(9 * SECOND);
  t.equal(kit.run(id).state.type, "Running");
  kit.pass(2 * SECOND);
  t.equal(kit.run(id).state.name, "TimedOut");
});

t.test("a clock that is set back keeps no run from its timeout", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "e1", { options: { timeout_seconds: 60 } }, { owns_stop: false });
  kit.pass(50 * SECOND);
  kit.nowUs -= HOUR;
  kit.tell({ kind: "Tick" });
  kit.pass(11 * SECOND);
  t.equal(kit.run(id).state.name, "TimedOut");
});

t.test("a cancel asked for just after the clock was set forward ends within its grace", async (t) => {
  const kit = new DispatchKit({ settings: { cancelGraceUs: SECOND } });
  const id = startRun(kit, "e1");
  kit.nowUs += HOUR;
  kit.send("CancelRun", { target: id });
  kit.pass(3 * SECOND);
  t.match(kit.run(id).state, { type: "Cancelled", message: "killed" });
});

t.test("declared schedules that change while fires are due: these are the former declaration's", async (t) => {
  const kit = new DispatchKit();
  const declare = (interval: number): Outcome =>
    kit.register([
      {
        ...{ project: "shop", flow: "job", module: MODULE, source_dir: SOURCE_DIR },
        options: { schedules: [{ kind: "interval", interval, anchor: START_US + 10 * SECOND, catchup: "latest", key: "a" }] },
      },
    ]);
  declare(3600);
  kit.nowUs += 3 * HOUR;
  t.match(catchUpsOf(declare(7200)), [{ policy: "latest", missed: 3, created: 1, dropped: 2 }]);
});

t.test("a run that was ended before its time and forced to run is that of its fire, also after a restart", async (t) => {
  const { kit, made, id } = scheduled({ kind: "interval", interval: 3600, anchor: START_US + 10 * SECOND });
  const first = Number(operations(made, "insert_run")[0]?.["id"]);
  kit.send("CancelRun", { target: first });
  const schedule = kit.state.schedules.get(id);
  schedule?.runs.delete(START_US + 10 * SECOND);
  schedule?.ended.add(START_US + 10 * SECOND);
  move(kit, first, "Running", { force: true });
  t.same([...(schedule?.runs.values() ?? [])].map((run) => run.id).includes(first), true);
  t.same([...(schedule?.ended ?? [])], []);
});

t.test("a run to come that outlives its schedule still waits for its time", async (t) => {
  const { kit, made, id } = scheduled({ kind: "interval", interval: 3600, anchor: START_US + 10 * SECOND });
  const first = Number(operations(made, "insert_run")[0]?.["id"]);
  move(kit, first, "Running", { force: true });
  kit.send("DeleteSchedule", { target: id });
  move(kit, first, "Scheduled", { force: true });
  t.equal(workOf(poll(kit, "e1", { wait_ms: 0 })), null);
  kit.pass(11 * SECOND);
  t.match(workOf(poll(kit, "e1")), { run_id: first });
});

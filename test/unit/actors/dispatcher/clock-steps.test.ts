/**
 * The wall clock is set by more than an hour: nothing is deleted by age, no schedule stays silent without a notice, and a
 * person can accept the clock.
 */
import t from "tap";
import { type ClockTurn, ClockWatch, HOLD_US } from "#actors/core/state/clock-watch";
import type { ClockProblem } from "#protocol/records/server";
import type { ClockRow } from "#storage/load/load";
import { eventNames, operations } from "../../../support/decision-record.ts";
import { DispatchKit, type Outcome, START_US } from "../../../support/dispatch-kit.ts";
import { createId, move, poll, report, workOf } from "../../../support/dispatch-steps.ts";

const SECOND = 1_000_000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

function problemOf(kit: DispatchKit): ClockProblem | null {
  return (kit.send("GetServer").reply?.body["clock_problem"] ?? null) as ClockProblem | null;
}

/** The clock is wrong for ten seconds; returns the outcomes from the step to shortly after the return. */
function stepForAWhile(kit: DispatchKit, us: number): Outcome[] {
  kit.setClock(us);
  const ahead = kit.pass(10 * SECOND);
  kit.setClock(-us);
  return [ahead, kit.pass(SECOND)];
}

const isDeletion = ({ op }: { op: string }): boolean =>
  op === "trim_history" || op === "delete_run" || op === "delete_idempotency";

for (const days of [100, -100]) {
  t.test(`a clock that is ${days} days off for ten seconds deletes nothing for a day of running time`, async (t) => {
    const kit = new DispatchKit({ oldHistory: true });
    t.same(eventNames(kit.pass(SECOND)), []);
    t.equal(problemOf(kit), null);
    const [there, back] = stepForAWhile(kit, days * DAY);
    const [first] = operations(there as Outcome, "insert_event");
    t.match(first, { name: "clock.stepped", occurred: Number });
    t.match(JSON.parse(String(first?.["payload"])), { step_secs: days * 86_400 });
    t.same(eventNames(back as Outcome), ["clock.stepped"]);
    t.match(problemOf(kit), { step_secs: -days * 86_400, retention_waits_secs: Number, schedules_count: 0 });
    t.match(problemOf(kit)?.message, days > 0 ? /set back by 100 days/ : /set forward by 100 days/);
    const firstHours = kit.pass(2 * HOUR);
    kit.sleep(21 * HOUR);
    const lastHour = kit.pass(HOUR - 10 * SECOND);
    const held = [there as Outcome, back as Outcome, firstHours, lastHour];
    t.same(
      held.flatMap(({ ops }) => ops.filter(isDeletion)),
      [],
    );
    const after = kit.pass(20 * SECOND);
    t.ok(after.ops.some(({ op }) => op === "trim_history"));
    t.ok(after.ops.some(({ op }) => op === "delete_idempotency"));
    t.equal(problemOf(kit), null);
  });
}

t.test("retention goes on with the next sweep once the clock is accepted, and every hour from then on", async (t) => {
  const kit = new DispatchKit({ oldHistory: true });
  kit.pass(HOUR);
  kit.setClock(100 * DAY);
  t.same(kit.pass(HOUR + SECOND).ops.filter(isDeletion), []);
  t.match(kit.send("AcceptClock").reply, { status: 200, body: { schedules: 0, rules: 0 } });
  t.equal(problemOf(kit), null);
  t.ok(kit.pass(SECOND).ops.some(({ op }) => op === "trim_history"));
  kit.setClock(-100 * DAY);
  kit.pass(SECOND);
  kit.send("AcceptClock");
  t.ok(
    kit.pass(HOUR).ops.some(({ op }) => op === "delete_idempotency"),
    "no sweep waits for the wall clock",
  );
});

t.test("neither the sleep of the machine nor a correction of an hour is a step", async (t) => {
  const kit = new DispatchKit();
  kit.pass(SECOND);
  kit.sleep(8 * HOUR);
  t.same(eventNames(kit.pass(SECOND)), []);
  kit.setClock(-HOUR);
  t.same(eventNames(kit.pass(SECOND)), []);
  t.equal(problemOf(kit), null);
});

t.test("a run that ends while the clock is 100 days behind is stored with the time by which it is as old as it is", async (t) => {
  const kit = new DispatchKit();
  const run = createId(kit);
  const lease = Number(workOf(poll(kit, "e1", { owns_stop: true }))?.["lease"]);
  kit.pass(SECOND);
  kit.setClock(-100 * DAY);
  const moved = { kind: "run_transition", seq: 1, state: { type: "Completed", timestamp: kit.nowUs } };
  const ended = operations(report(kit, run, [moved], { lease }), "update_run").at(-1);
  t.equal(ended?.["end_time"], START_US + SECOND - 100 * DAY);
  t.equal(ended?.["state_received"], START_US + SECOND);
});

function scheduled(kit: DispatchKit, body: Record<string, unknown>): number {
  move(kit, createId(kit), "Cancelled");
  return Number(kit.send("CreateSchedule", { target: 1, body }).reply?.body["id"]);
}

t.test("schedules that decided fires while the clock was ahead are named, and go on from now when it is accepted", async (t) => {
  const kit = new DispatchKit();
  const id = scheduled(kit, { kind: "interval", interval: 86_400, anchor: START_US + DAY, catchup: "latest" });
  const laidOut = [...kit.state.runs.keys()];
  stepForAWhile(kit, 400 * DAY);
  const silent = START_US + 401 * DAY;
  t.match(problemOf(kit), { schedules_count: 1, schedules: [{ id, flow: "job", project: "shop", next_fire: silent }] });
  t.match(problemOf(kit)?.message, /Silent, .* job \(schedule 1\)\. `millrace doctor --accept-clock`/);
  t.match(kit.send("AcceptClock").reply, { status: 200, body: { schedules: 1, rules: 0 } });
  const right = kit.pass(SECOND);
  t.match(operations(right, "put_schedule").at(-1), { next_fire: START_US + DAY });
  t.equal(problemOf(kit), null);
  t.equal(kit.state.schedules.get(id)?.next_fire, START_US + DAY);
  // The run that catch-up started waits for an engine; the fires that catch-up dropped are scheduled again.
  const caughtUp = [...kit.state.runs.values()].filter((run) => run.created_by === "catchup");
  t.equal(caughtUp.length, 1);
  const dropped = [...kit.state.runs.values()].filter(({ scheduled_time }) => (scheduled_time ?? 0) < START_US + 10 * DAY);
  t.same(
    dropped.map(({ scheduled_time, place }) => [(Number(scheduled_time) - START_US) / DAY, place]),
    [1, 2, 3].map((day) => [day, "future"]),
  );
  t.same(
    dropped.map((run) => run.id),
    laidOut,
    "a fire has one run, also when its former run ended in a step that is not yet committed",
  );
  t.same(
    [...kit.state.runs.values()].filter(({ scheduled_time }) => (scheduled_time ?? 0) > START_US + 400 * DAY),
    [],
    "what was laid out for then is laid out again when it is near",
  );
  kit.sleep(DAY - 30 * SECOND);
  kit.pass(40 * SECOND);
  t.equal(kit.run(Number(dropped[0]?.id)).place, "ready");
});

t.test("a schedule that was paused while the clock was ahead keeps no run of a fire that is to come again", async (t) => {
  const kit = new DispatchKit();
  const id = scheduled(kit, { kind: "interval", interval: 86_400, anchor: START_US + DAY, catchup: "all", catchup_max: 10 });
  stepForAWhile(kit, 3 * DAY + HOUR);
  const waiting = () => [...kit.state.runs.values()].filter((run) => run.schedule_id === id && run.place !== "none");
  t.equal(waiting().filter((run) => run.created_by === "catchup").length, 3);
  kit.send("PauseSchedule", { target: id });
  kit.send("AcceptClock");
  kit.pass(SECOND);
  t.same(waiting(), []);
  kit.send("ResumeSchedule", { target: id });
  kit.pass(SECOND);
  t.equal(kit.state.schedules.get(id)?.next_fire, START_US + DAY);
});

t.test("a fire whose run had started while the clock was ahead does not run twice", async (t) => {
  const kit = new DispatchKit();
  const id = scheduled(kit, { kind: "interval", interval: 86_400, anchor: START_US + DAY, catchup: "all", catchup_max: 10 });
  kit.pass(SECOND);
  kit.setClock(3 * DAY + HOUR);
  kit.pass(10 * SECOND);
  const started = [...kit.state.runs.values()].filter((run) => run.created_by === "catchup");
  t.equal(started.length, 3);
  for (const run of started) move(kit, run.id, "Completed", { force: true });
  kit.setClock(-3 * DAY - HOUR);
  kit.pass(SECOND);
  kit.send("AcceptClock");
  kit.pass(SECOND);
  t.equal(kit.state.schedules.get(id)?.consumed_until, kit.nowUs - SECOND);
  const inserted = [1, 2, 3].flatMap(() => {
    kit.sleep(DAY - 60 * SECOND);
    return operations(kit.pass(60 * SECOND), "insert_run");
  });
  t.same(
    inserted.filter((run) => Number(run["scheduled_time"]) <= START_US + 3 * DAY),
    [],
  );
  t.ok(started.every(({ id: run }) => kit.run(run).state.type === "Completed"));
});

t.test("a disable window that began while the clock was ahead is over after its length", async (t) => {
  const kit = new DispatchKit();
  const id = scheduled(kit, { kind: "interval", interval: 600, anchor: START_US + 600 * SECOND });
  kit.pass(SECOND);
  kit.setClock(400 * DAY);
  kit.pass(10 * SECOND);
  const schedule = kit.state.schedules.get(id);
  if (schedule === undefined) throw new Error("the schedule is gone");
  schedule.active = false;
  schedule.updated_at = kit.nowUs;
  schedule.paused_until = kit.nowUs + HOUR;
  kit.setClock(-400 * DAY);
  kit.pass(SECOND);
  kit.send("AcceptClock");
  kit.pass(SECOND);
  t.equal(schedule.active, false);
  kit.pass(HOUR);
  t.equal(schedule.active, true);
});

t.test(
  "a rule whose clock ticked while the clock was ahead is counted, and its next tick comes in time once it is accepted",
  async (t) => {
    const kit = new DispatchKit();
    const at = { cron: "0 * * * *", tz: "UTC" };
    const made = kit.send("CreateRule", {
      body: { name: "r", unless: { events: ["x.y"] }, within: 60, at, do: [{ kind: "webhook", url: "http://127.0.0.1:1/" }] },
    });
    const rule = kit.state.rules.rules.get(Number(made.reply?.body["id"]));
    if (rule === undefined) throw new Error(JSON.stringify(made.reply));
    kit.pass(SECOND);
    rule.guards.tick = kit.nowUs + 400 * DAY;
    t.match(problemOf(kit), { rules_count: 1, message: /Silent, .* 1 rule with a clock/ });
    t.match(kit.send("AcceptClock").reply?.body, { schedules: 0, rules: 1 });
    t.equal(rule.guards.tick, kit.nowUs);
    t.equal(problemOf(kit), null);
  },
);

t.test("a run that began to wait while the clock was ahead gets what it waits for like any other", async (t) => {
  const kit = new DispatchKit({ settings: { resourceTotals: new Map([["db", 1]]) } });
  const wish = { options: { resources: { db: 1 } } };
  createId(kit, wish);
  t.ok(workOf(poll(kit, "e1")));
  kit.pass(SECOND);
  kit.setClock(400 * DAY);
  const waiting = createId(kit, wish);
  poll(kit, "e2");
  kit.pass(10 * SECOND);
  kit.setClock(-400 * DAY);
  kit.pass(SECOND);
  t.equal(kit.state.reservations.get("db")?.id, waiting);
});

const HOST = "here:boot-1";

/** A clock watch whose clocks a test sets, and its writes. */
function watched(row: ClockRow | null, boot = HOST) {
  const watch = new ClockWatch(row, boot);
  const clocks = { nowUs: START_US, bootUs: DAY };
  const written: ClockRow[] = [];
  const events: unknown[] = [];
  const look = (): void => {
    const turn: ClockTurn = {
      nowUs: clocks.nowUs,
      state: { bootUs: () => clocks.bootUs, uptimeUs: () => clocks.bootUs },
      out: { send: () => undefined },
      warn: () => undefined,
      rows: { put: (_operation, { id: _id, ...row }) => written.push(row) },
      events: { given: (event) => events.push(event.payload) },
    };
    watch.look(turn);
  };
  return { watch, clocks, written, events, look };
}

const STORED: ClockRow = {
  boot: HOST,
  boot_time: DAY,
  wall_time: START_US,
  ahead: START_US - DAY,
  trusted_ahead: START_US - DAY,
  step: null,
  stepped_at: null,
  waited: 0,
};

t.test("a step while no server ran is noticed at its start", async (t) => {
  const { watch, clocks, events, look } = watched(STORED);
  clocks.bootUs += HOUR;
  clocks.nowUs += HOUR + 30 * DAY;
  look();
  t.same(events, [{ before: START_US + HOUR, after: START_US + HOUR + 30 * DAY, step_secs: 30 * 86_400 }]);
  t.equal(
    watch.trustedUs(clocks.nowUs, () => clocks.bootUs),
    START_US + HOUR,
  );
});

t.test("time that the machine was off is no step; a clock that lies before the last time seen is one", async (t) => {
  const off = watched(STORED, "here:boot-2");
  off.clocks.bootUs = 10 * SECOND;
  off.clocks.nowUs += 60 * DAY;
  off.look();
  t.same([off.events, off.watch.openStep], [[], null]);
  const back = watched(STORED, "here:boot-2");
  back.clocks.bootUs = 10 * SECOND;
  back.clocks.nowUs -= 60 * DAY;
  back.look();
  t.match(back.events, [{ step_secs: -60 * 86_400 }]);
  t.equal(
    back.watch.trustedUs(back.clocks.nowUs, () => back.clocks.bootUs),
    START_US,
  );
});

t.test("what was waited counts on over restarts and reboots", async (t) => {
  const first = watched(STORED);
  first.clocks.nowUs += 100 * DAY;
  first.look();
  for (let hour = 0; hour < 10; hour += 1) {
    first.clocks.bootUs += HOUR;
    first.clocks.nowUs += HOUR;
    first.look();
  }
  const stored = first.written.at(-1) as ClockRow;
  t.equal(stored.waited, 10 * HOUR);
  const second = watched(stored, "here:boot-2");
  second.clocks.bootUs = 0;
  second.clocks.nowUs = stored.wall_time + DAY;
  second.look();
  t.equal(second.watch.openStep?.leftUs, HOLD_US - 10 * HOUR);
  t.equal(
    second.watch.trustedUs(second.clocks.nowUs, () => 0),
    START_US + 10 * HOUR + DAY,
    "as far off as before",
  );
  second.clocks.bootUs += 14 * HOUR;
  second.clocks.nowUs += 14 * HOUR;
  second.look();
  t.equal(second.watch.openStep, null);
  t.equal(
    second.watch.trustedUs(second.clocks.nowUs, () => second.clocks.bootUs),
    second.clocks.nowUs,
  );
});

import t, { type Test } from "tap";
import { eventNames, operations } from "../../../support/decision-record.ts";
import { DispatchKit, type KitOptions, type Outcome, START_US } from "../../../support/dispatch-kit.ts";
import { create, createId, MODULE, move, poll, SOURCE_DIR, startRun, workOf } from "../../../support/dispatch-steps.ts";

const SECOND = 1_000_000;
const HOUR = 3600 * SECOND;

/** A flow with a schedule; earlier runs are ended, so that only the schedule's runs are left. */
function scheduled(body: Record<string, unknown>, options: KitOptions = {}, flow: Record<string, unknown> = {}) {
  const kit = new DispatchKit(options);
  const first = createId(kit, flow);
  move(kit, first, "Cancelled");
  const made = kit.send("CreateSchedule", { target: 1, body });
  return { kit, made, id: Number(made.reply?.body["id"]) };
}

const everyMinute = { kind: "interval", interval: 60, anchor: START_US };

function firesOf(outcome: Outcome): number[] {
  return operations(outcome, "insert_run").map((run) => Number(run["scheduled_time"]));
}

function upcoming(kit: DispatchKit, projected = 0): Record<string, unknown>[] {
  return kit.send("ListUpcoming", { target: 1, body: { projected } }).reply?.body as unknown as Record<string, unknown>[];
}

function assertOnePerFire(t: Test, outcomes: readonly Outcome[]): void {
  const fires = outcomes.flatMap(firesOf);
  t.equal(new Set(fires).size, fires.length, "one run per fire");
}

t.test("the look-ahead: three runs, or an hour of them, at most a hundred fires", async (t) => {
  t.equal(firesOf(scheduled({ kind: "cron", cron: "0 3 * * *" }).made).length, 3);
  t.equal(firesOf(scheduled(everyMinute).made).length, 60);
  t.equal(firesOf(scheduled({ ...everyMinute, interval: 1 }).made).length, 100);
  t.equal(firesOf(scheduled({ kind: "cron", cron: "0 0 30 2 *" }).made).length, 0);
});

t.test("a run of the look-ahead is named after its flow and fire, and is not in the queue before its time", async (t) => {
  const { kit, made } = scheduled(everyMinute);
  t.match(operations(made, "insert_run")[0], {
    name: "job-20270115T080100",
    created_by: "schedule",
    schedule_id: 1,
    scheduled_time: START_US + 60 * SECOND,
  });
  t.equal(workOf(poll(kit, "e1", { wait_ms: 0 })), null);
  t.same(operations(made, "put_schedule")[0]?.["next_fire"], START_US + 60 * SECOND);
});

t.test("where many schedules are due at once, all are decided before any looks ahead, and each is stored once", async (t) => {
  const { kit } = scheduled(everyMinute);
  for (let more = 0; more < 2; more += 1) kit.send("CreateSchedule", { target: 1, body: everyMinute });
  kit.pass(59 * SECOND);
  const due = kit.pass(2 * SECOND);
  const stored = due.ops.filter(({ op }) => op === "put_schedule");
  t.same(
    stored.map(({ id, next_fire }) => [id, next_fire]),
    [1, 2, 3].map((id) => [id, START_US + 120 * SECOND]),
  );
  t.equal(operations(due, "insert_run").length, 0, "laid out before");
  // An hour later without any check in between: runs are missing, so each schedule creates them with its decision.
  kit.nowUs += HOUR;
  const late = kit.pass(SECOND);
  t.ok(operations(late, "insert_run").length > 0);
  for (const schedule of kit.state.schedules.all()) t.ok([...schedule.runs.keys()].some((fire) => fire > kit.nowUs));
});

t.test(
  "at its time the run is handed out and the fire is decided, in one decision; the look-ahead has gone on before",
  async (t) => {
    const { kit, made } = scheduled(everyMinute);
    const parked = poll(kit, "e1");
    const before = kit.pass(59 * SECOND);
    t.equal(operations(before, "update_run").length, 0);
    const due = kit.pass(2 * SECOND);
    t.match(workOf(due, parked.command), { run_id: Number(operations(made, "insert_run")[0]?.["id"]) });
    t.match(operations(due, "put_schedule"), [{ consumed_until: START_US + 60 * SECOND, next_fire: START_US + 120 * SECOND }]);
    t.same([firesOf(before).length, firesOf(due).length], [2, 0]);
    assertOnePerFire(t, [made, before, due]);
  },
);

t.test("skipped fires end Skipped, those downstream as well, and the look-ahead keeps three that start", async (t) => {
  const { kit, id } = scheduled({ kind: "interval", interval: 7200, anchor: START_US });
  createId(kit, { flow: "next", options: { after: { flow: "job" } } });
  createId(kit, { flow: "last", options: { after: { flow: "next" } } });
  const skip = kit.send("SkipFires", { target: id, body: { next: 2, by: "ui" } });
  const fires = [START_US + 2 * HOUR, START_US + 4 * HOUR];
  t.match(skip.reply, {
    status: 200,
    body: {
      skipped: fires,
      downstream: [
        { flow: "next", project: "shop", fires },
        { flow: "last", project: "shop", fires },
      ],
      schedule: { skipped: 2, next_fire: START_US + 6 * HOUR },
    },
  });
  t.equal(upcoming(kit).length, 5);
  t.match(upcoming(kit)[0], { skipped: true, skipped_by: "ui", state: { name: "Scheduled", details: { skip: "user" } } });
  kit.nowUs += 2 * HOUR - SECOND;
  const due = kit.pass(2 * SECOND);
  t.same(
    operations(due, "insert_event")
      .filter((event) => event["name"] === "run.skipped")
      .map((event) => JSON.parse(String(event["payload"])) as unknown),
    [{ reason: "user" }, { reason: "upstream" }, { reason: "upstream" }],
  );
  t.match(operations(due, "delete_skip"), [{ schedule_id: id, fire: fires[0] }]);
});

t.test("a fire whose run was started before its time cannot be skipped", async (t) => {
  const { kit, id } = scheduled({ kind: "interval", interval: 7200, anchor: START_US });
  const [first, second] = [START_US + 2 * HOUR, START_US + 4 * HOUR];
  const run = kit.state.schedules.get(id)?.runs.get(first)?.id ?? 0;
  t.equal(move(kit, run, "Running", { force: true }).reply?.status, 200);
  const refused = kit.send("SkipFires", { target: id, body: { fires: [first, second] } });
  t.match(refused.reply, { status: 422, body: { error: /has started or ended already/ } });
  t.same(operations(refused, "put_skip"), [], "none of the fires is skipped");
  t.match(kit.send("SkipFires", { target: id, body: { next: 1 } }).reply, { status: 200, body: { skipped: [second] } });
});

t.test("a skip goes with the fires that pass under a paused schedule", async (t) => {
  const { kit, id } = scheduled(everyMinute);
  const [first, second] = [START_US + 60 * SECOND, START_US + 3_600 * SECOND];
  kit.send("SkipFires", { target: id, body: { fires: [first, second] } });
  kit.send("PauseSchedule", { target: id });
  kit.nowUs += 120 * SECOND;
  const resumed = kit.send("ResumeSchedule", { target: id });
  t.match(operations(resumed, "delete_skip"), [{ schedule_id: id, fire: first }]);
  t.strictSame([...(kit.state.schedules.get(id)?.skips.keys() ?? [])], [second]);
});

t.test("a skip is taken back; of all fires named none is skipped when one is wrong", async (t) => {
  const { kit, id } = scheduled({ kind: "cron", cron: "0 3 * * *" });
  const [first = 0] = firesOf(scheduled({ kind: "cron", cron: "0 3 * * *" }).made);
  const wrong: [Record<string, unknown>, RegExp][] = [
    [{}, /name the fires to skip/],
    [{ next: 0 }, /next must be at least 1/],
    [{ next: 101 }, /only 100 of the next 100 fires/],
    [{ fires: [first, first + 1] }, /is not a fire of this schedule/],
    [{ fires: [START_US - HOUR] }, /has passed/],
    [{ fires: [first + 200 * 24 * HOUR] }, /more than 100 fires ahead/],
    [{ next: 1, by: "me" }, /by must be ui or api/],
  ];
  for (const [body, error] of wrong) {
    t.match(kit.send("SkipFires", { target: id, body }).reply, { status: 422, body: { error } });
    t.equal(kit.state.schedules.get(id)?.skips.size, 0);
  }
  kit.send("SkipFires", { target: id, body: { fires: [first] } });
  t.match(kit.send("UndoSkip", { target: id, body: { fire: first } }).reply, {
    status: 200,
    body: { skipped: 0, next_fire: first },
  });
  t.match(kit.send("UndoSkip", { target: id, body: { fire: first } }).reply, { status: 404 });
});

t.test("deleting a run that is to come skips its fire; cancelling it decides it", async (t) => {
  const { kit, made, id } = scheduled({ kind: "interval", interval: 7200, anchor: START_US });
  const [first, second] = operations(made, "insert_run").map((run) => Number(run["id"]));
  const outcomes = [made, kit.send("DeleteRun", { target: first ?? 0 }), kit.send("CancelRun", { target: second ?? 0 })];
  t.match(operations(outcomes[1] as Outcome, "put_skip"), [{ fire: START_US + 2 * HOUR, skipped_by: "delete" }]);
  outcomes.push(kit.send("PatchSchedule", { target: id, body: {} }));
  kit.nowUs += 2 * HOUR;
  outcomes.push(kit.pass(SECOND));
  assertOnePerFire(t, outcomes);
  t.notOk(upcoming(kit).some((item) => item["id"] === first || item["id"] === second));
});

t.test("an edit keeps the runs and skips of fires that it keeps, and drops the others", async (t) => {
  const { kit, made, id } = scheduled({ kind: "cron", cron: "0 3 * * *", timezone: "UTC" });
  kit.send("SkipFires", { target: id, body: { next: 1 } });
  const kept = kit.send("PatchSchedule", { target: id, body: { cron: "0 3,15 * * *" } });
  t.match(kept.reply, { status: 200, body: { skipped: 1, schedule: { timezone: "UTC" } } });
  t.equal(operations(kept, "delete_run").length, 0);
  const dropped = kit.send("PatchSchedule", { target: id, body: { cron: "30 4 * * *" } });
  t.match(dropped.reply?.body, { skipped: 0 });
  t.ok(eventNames(dropped).includes("schedule.skips_dropped"));
  t.same(
    upcoming(kit).map((item) => new Date(Number(item["scheduled_time"]) / 1000).toISOString().slice(11, 16)),
    ["04:30", "04:30", "04:30"],
  );
  t.equal(operations(made, "insert_run").length, 3);
});

t.test("pausing deletes the runs to come and resuming lays out new ones; what passed is not caught up", async (t) => {
  const { kit, id, made } = scheduled({ ...everyMinute, catchup: "all" });
  const paused = kit.send("PauseSchedule", { target: id });
  t.match(paused.reply?.body, { active: false, paused_reason: "paused", next_fire: null });
  t.equal(operations(paused, "delete_run").length, firesOf(made).length);
  t.match(operations(paused, "insert_event").at(-1), { name: "schedule.paused", flow_id: 1 });
  t.equal(kit.send("PauseSchedule", { target: id }).ops.length, 0, "repeating it changes nothing");
  kit.nowUs += HOUR;
  kit.pass(SECOND);
  const resumed = kit.send("ResumeSchedule", { target: id });
  t.match(resumed.reply?.body, { active: true, paused_reason: null });
  t.ok(firesOf(resumed).every((fire) => fire > kit.nowUs));
  t.match(kit.send("PauseFlow", { target: 1 }).reply?.body, { paused: 1 });
  t.match(kit.send("ResumeFlow", { target: 9 }).reply?.body, { resumed: 0 });
});

for (const [catchup, created] of [
  ["skip", 0],
  ["latest", 1],
  ["all", 5],
] as const) {
  t.test(`the machine slept through fires: ${catchup}`, async (t) => {
    const { kit, made } = scheduled({ ...everyMinute, catchup, catchup_max: 5 });
    kit.nowUs += 3 * HOUR;
    const woken = kit.pass(SECOND);
    const [event] = operations(woken, "insert_event").filter(({ name }) => name === "schedule.catchup");
    // The fire of the last minute does not count as missed: it starts late.
    t.same(JSON.parse(String(event?.["payload"])), {
      schedule_id: 1,
      policy: catchup,
      missed: 179,
      created,
      dropped: 179 - created,
    });
    const started = [...kit.state.runs.values()].filter((run) => run.place === "ready");
    t.equal(started.length, created + 1);
    assertOnePerFire(t, [made, woken]);
  });
}

t.test("a clock that steps back repeats no fire", async (t) => {
  const { kit, made } = scheduled(everyMinute);
  const first = kit.pass(150 * SECOND);
  kit.nowUs -= 2 * HOUR;
  const again = kit.pass(150 * SECOND);
  assertOnePerFire(t, [made, first, again]);
  kit.nowUs += 2 * HOUR;
  assertOnePerFire(t, [made, first, again, kit.pass(300 * SECOND)]);
});

t.test("failures within the window pause the schedules until it ends", async (t) => {
  const { kit, id } = scheduled(everyMinute, {}, { options: { disable_after: [2, 60, 600] } });
  const fail = (): Outcome => move(kit, startRun(kit, "e1", { options: { disable_after: [2, 60, 600] } }), "Failed");
  t.notOk(eventNames(fail()).includes("flow.disabled"));
  const second = fail();
  t.same(eventNames(second).slice(-2), ["schedule.paused", "flow.disabled"]);
  t.match(kit.state.schedules.get(id), { active: false, paused_reason: "disabled", paused_until: kit.nowUs + 600 * SECOND });
  const over = kit.pass(601 * SECOND);
  t.same(
    eventNames(over).filter((name) => /^(schedule|flow)\./.test(name)),
    ["schedule.resumed", "flow.enabled"],
  );
  t.ok(firesOf(over).every((fire) => fire > kit.nowUs - SECOND));
});

t.test("declared schedules are reconciled: set again, kept when detached, removed when no longer declared", async (t) => {
  const kit = new DispatchKit();
  const registration = (schedules: unknown[]) => ({
    project: "shop",
    flow: "job",
    module: MODULE,
    source_dir: SOURCE_DIR,
    options: { schedules },
  });
  const noon = { kind: "cron", cron: "0 12 * * *", key: "noon" };
  const hourly = { kind: "interval", interval: 3600 };
  const first = kit.register([registration([noon, hourly])]);
  t.match(operations(first, "put_schedule"), [
    { code_key: "noon", source: "code", persist: 0 },
    { code_key: "code-1", source: "code" },
  ]);
  const same = kit.register([registration([noon, hourly])]);
  t.equal(operations(same, "put_schedule").length, 0, "an interval goes on from its anchor");
  kit.send("PatchSchedule", { target: 1, body: { cron: "0 13 * * *" } });
  kit.send("PatchSchedule", { target: 2, body: { interval: 60, persist: true } });
  kit.register([registration([noon])]);
  t.match(kit.state.schedules.get(1)?.spec, { cron: "0 12 * * *" });
  t.match(kit.state.schedules.get(2)?.spec, { interval: 60 });
  const gone = kit.register([registration([])]);
  t.equal(operations(gone, "delete_schedule").length, 1);
  kit.register([registration([{ kind: "cron", cron: "nope" }])]);
  t.match(kit.state.flowByName("shop", "job")?.schedule_error, /schedule 0: invalid cron expression/);
});

t.test(
  "a flow whose declared schedule is wrong loads, runs by hand and after its upstream; the error goes with the mistake",
  async (t) => {
    const kit = new DispatchKit();
    const flow = (name: string, options: Record<string, unknown>) => ({
      project: "shop",
      flow: name,
      module: MODULE,
      source_dir: "/flows",
      options,
    });
    const nope = { kind: "cron", cron: "nope" };
    const hourly = { kind: "interval", interval: 3600, key: "hourly" };
    const found = kit.register([flow("job", { schedules: [nope, hourly], after: { flow: "first" } }), flow("first", {})]);
    const error = /^schedule 0: invalid cron expression "nope"/;
    t.match(operations(found, "update_flow").at(-1), { error: null, schedule_error: error });
    t.match(kit.state.flowByName("shop", "job"), { error: null, schedule_error: error });
    t.match(operations(found, "put_schedule"), [{ code_key: "hourly" }], "its other schedules are stored");
    t.match(create(kit, { flow: "job" }).reply, { status: 201 });
    const first = createId(kit, { flow: "first" });
    t.match(operations(move(kit, first, "Completed", { force: true }), "insert_run"), [{ name: /^job-after-/ }]);
    t.match(kit.state.flowByName("shop", "job"), { schedule_error: error }, "and it stays told");
    const mended = kit.register([flow("job", { schedules: [hourly] })]);
    t.match(operations(mended, "update_flow").at(-1), { error: null, schedule_error: null });
  },
);

t.test("projected fires follow the runs, at most a hundred for each schedule", async (t) => {
  const { kit } = scheduled({ kind: "cron", cron: "0 3 * * *" });
  const items = upcoming(kit, 4);
  t.same(
    items.map((item) => item["projected"]),
    [false, false, false, true, true, true, true],
  );
  t.equal(upcoming(kit, 5000).length, 103);
});

t.test("schedules of an agent are its own, in UTC, and code keeps what it declares", async (t) => {
  const kit = new DispatchKit({ settings: { timezone: "Europe/Berlin" } });
  const body = { kind: "cron", cron: "0 3 * * *" };
  const options = { schedules: [body] };
  kit.register([{ project: "shop", flow: "job", module: MODULE, source_dir: SOURCE_DIR, options }]);
  const byHand = kit.send("CreateSchedule", { target: 1, body }).reply?.body;
  t.match(byHand, { source: "ui", schedule: { timezone: "Europe/Berlin" } });
  const byAgent = kit.send("CreateSchedule", { target: 1, body, mcpClient: "editor" }).reply?.body;
  t.match(byAgent, { source: "mcp", schedule: { timezone: "UTC" } });
  const edited = kit.send("PatchSchedule", { target: 2, body: { interval: 60 }, mcpClient: "editor" }).reply?.body;
  t.match(edited, { source: "ui", schedule: { kind: "interval", timezone: "UTC" } });
  const removed = (target: number, mcpClient?: string) =>
    kit.send("DeleteSchedule", { target, ...(mcpClient !== undefined && { mcpClient }) }).reply;
  t.match(removed(1, "editor"), { status: 409, body: { error: /declared in code/ } });
  t.match(removed(3, "editor"), { status: 204 });
  t.match(removed(1), { status: 204 }, "a person may");
});

t.test("fires of all schedules: up to a moment and a count, skipped ones marked, paused ones left out", async (t) => {
  const { kit, id } = scheduled(everyMinute);
  const paused = kit.send("CreateSchedule", { target: 1, body: { ...everyMinute, active: false } }).reply?.body;
  t.match(paused, { active: false });
  const second = START_US + 120 * SECOND;
  kit.send("SkipFires", { target: id, body: { fires: [second], by: "ui" } });
  const fires = (body: object) => kit.send("ListFires", { body }).reply?.body as unknown as Record<string, unknown>[];
  const expected = [START_US + 60 * SECOND, second, START_US + 180 * SECOND];
  t.match(fires({ limit: 3 }), [{ schedule_id: id, project: "shop", flow: "job", fires: expected, more: true }]);
  t.match(fires({ limit: 3 })[0]?.["skipped"], [{ fire: second, by: "ui" }]);
  t.strictSame(fires({ limit: 3, before: second })[0]?.["fires"], expected.slice(0, 1));
  t.equal(fires({ limit: 3, before: second })[0]?.["more"], false);
  t.equal(fires({ limit: 3 }).length, 1);
  t.strictSame(fires({ limit: 3, before: second })[0]?.["more_hours"], undefined, "there are no more");
  // The time of the test is a full hour.
  const hour = START_US + 3600 * SECOND;
  const end = hour + 2 * 3600 * SECOND;
  t.strictSame(fires({ limit: 3, before: end })[0]?.["more_hours"], [hour, hour + 3600 * SECOND], "hours that have more");
  t.strictSame(fires({ limit: 1, before: end })[0]?.["more_hours"], [hour], "no more of them than fires");
  const nightly = kit.send("CreateSchedule", { target: 1, body: { kind: "cron", cron: "0 3 * * *" } }).reply?.body;
  t.strictSame(
    fires({ limit: 3, schedule_id: (nightly as unknown as { id: number }).id }).map(({ schedule_id }) => schedule_id),
    [(nightly as unknown as { id: number }).id],
    "of one schedule alone",
  );
  t.strictSame(fires({ limit: 3, schedule_id: (paused as unknown as { id: number }).id }), [], "it is paused");
});

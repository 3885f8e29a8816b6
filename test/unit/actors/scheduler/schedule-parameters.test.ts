/** Parameters of schedules: rendered for each fire, checked when declared, and replaced by key. */
import t from "tap";
import { operations } from "../../../support/decision-record.ts";
import { DispatchKit, START_US } from "../../../support/dispatch-kit.ts";
import { createId, MODULE, move, poll, SOURCE_DIR, workOf } from "../../../support/dispatch-steps.ts";

const SECOND = 1_000_000;
const properties = { region: { type: "string", default: "us" }, day: { type: "string" }, hour: { type: "integer", default: 0 } };
const parameter_schema = { type: "object", properties };
const daily = { kind: "cron", cron: "0 6 * * *", timezone: "Europe/Berlin" };

function kitWithFlow(): DispatchKit {
  const kit = new DispatchKit();
  move(kit, createId(kit, { parameter_schema }), "Cancelled");
  return kit;
}

function sent(kit: DispatchKit, parameters: unknown, more = {}) {
  return kit.send("CreateSchedule", { target: 1, body: { ...daily, parameters, ...more } });
}

const parametersIn = (outcome: ReturnType<DispatchKit["send"]>): unknown[] =>
  operations(outcome, "insert_run").map((run) => JSON.parse(String(run["parameters"])));

t.test("texts are templates of the fire in the zone of the schedule; the flow's defaults fill in the rest", async (t) => {
  const kit = kitWithFlow();
  // 2027-01-15 08:00 UTC: the fire at 06:00 in Kiritimati is on the next day there, and the previous evening in UTC.
  const made = sent(kit, { day: "{{ fire.date }}", hour: "{{ fire.hour }}" }, { timezone: "Pacific/Kiritimati" });
  t.match(made.reply, { status: 201, body: { parameters: { day: "{{ fire.date }}", hour: "{{ fire.hour }}" } } });
  t.same(
    operations(made, "insert_run").map((run) => [run["scheduled_time"], JSON.parse(String(run["parameters"]))]),
    [16, 17, 18].map((day) => [
      Date.parse(`2027-01-${day - 1}T16:00:00Z`) * 1000,
      { day: `2027-01-${day}`, hour: "6", region: "us" },
    ]),
  );
  const all =
    "{{ fire.date }} {{ fire.time }} {{ fire.year }}-{{ fire.month }}-{{ fire.day }} {{ fire.weekday }} {{ fire.yesterday }} " +
    "{{ fire.datetime }} {{ fire.utc }} {{ fire.timestamp }} {{ fire.timezone }} {{ flow.project }}/{{ flow.name }}";
  const [first] = parametersIn(sent(kit, { day: all })) as { day: string }[];
  t.equal(
    first?.day,
    "2027-01-16 06:00:00 2027-1-16 6 2027-01-15 2027-01-16T06:00:00+01:00 2027-01-16T05:00:00.000Z " +
      `${Date.parse("2027-01-16T05:00:00Z") * 1000} Europe/Berlin shop/job`,
  );
});

t.test("parameters that the flow or the template refuses are refused when they are declared", async (t) => {
  const kit = kitWithFlow();
  for (const [parameters, error] of [
    [{ dya: "x" }, /parameter "dya" is not declared/],
    [{ hour: "{{ fire.date }}" }, /"hour": expected integer/],
    [{ day: "{{ fire.dat }}" }, /template error in parameters\.day: .*undefined/],
    [{ day: "{{ fire.date" }, /template error in parameters\.day/],
    [{ day: "x".repeat(17_000) }, /at most 16384 bytes/],
    [{ day: "{% for i in range(1000) %}{% for j in range(1000) %}x{% endfor %}{% endfor %}" }, /too much work/],
  ] as const)
    t.match(sent(kit, parameters).reply, { status: 422, body: { error } });
  t.equal(kit.state.schedules.all().length, 0);
  const schedules = [{ ...daily, key: "a", parameters: { dya: 1 } }];
  kit.register([
    { project: "shop", flow: "job", module: MODULE, source_dir: SOURCE_DIR, parameter_schema, options: { schedules } },
  ]);
  t.match(kit.state.flowByName("shop", "job")?.schedule_error, /schedule 0: parameter "dya" is not declared/);
});

t.test("a fire whose parameters fail later is a Failed run with the reason, and further fires follow", async (t) => {
  const kit = kitWithFlow();
  const template = "{% if fire.minute == 2 %}{{ fire.nothing }}{% else %}{{ fire.time }}{% endif %}";
  sent(kit, { day: template }, { kind: "interval", interval: 60, anchor: START_US, cron: undefined });
  kit.pass(61 * SECOND);
  const failed = operations(kit.pass(60 * SECOND), "insert_run").find((run) => run["state_type"] === "Failed");
  t.match(failed, {
    state_message: /parameters of the schedule cannot be used: .*nothing/,
    scheduled_time: START_US + 120 * SECOND,
  });
  kit.pass(60 * SECOND);
  const next = [...kit.state.runs.values()].find((run) => run.scheduled_time === START_US + 180 * SECOND);
  t.equal(next && kit.state.parametersOf(next), '{"day":"09:03:00","hour":0,"region":"us"}');
});

t.test("changed parameters reach the runs to come, and skips stay", async (t) => {
  const kit = kitWithFlow();
  const made = sent(kit, { day: "{{ fire.date }}" });
  const id = Number(made.reply?.body["id"]);
  kit.send("SkipFires", { target: id, body: { next: 1 } });
  const patched = kit.send("PatchSchedule", { target: id, body: { parameters: { region: "eu" } } });
  t.match(patched.reply, { status: 200, body: { id, skipped: 1, parameters: { region: "eu" } } });
  t.same(parametersIn(patched)[0], { hour: 0, region: "eu" });
  const cleared = kit.send("PatchSchedule", { target: id, body: { parameters: {} } });
  t.notOk("parameters" in (cleared.reply?.body ?? {}), "an empty map is none");
  t.match(kit.send("PatchSchedule", { target: id, body: { parameters: { nope: 1 } } }).reply, { status: 422 });
});

t.test("PUT creates a schedule by key and replaces it: id, skips, pause and runs that stay are kept", async (t) => {
  const kit = kitWithFlow();
  const put = (body: Record<string, unknown>, key = "eu") => kit.send("PutSchedule", { target: 1, targetName: key, body });
  const made = put({ ...daily, parameters: { region: "eu" } });
  t.match(made.reply, { status: 201, body: { code_key: "eu", source: "ui", parameters: { region: "eu" } } });
  const id = Number(made.reply?.body["id"]);
  kit.send("SkipFires", { target: id, body: { next: 1 } });
  const again = put({ ...daily, parameters: { region: "eu" } });
  t.match(again.reply, { status: 200, body: { id, skipped: 1 } });
  t.same(again.ops, [], "the same body again changes nothing");
  const moved = put({ ...daily, cron: "0 6,18 * * *", parameters: { region: "eu" } });
  t.match(moved.reply, { status: 200, body: { id, skipped: 1, schedule: { cron: "0 6,18 * * *" } } });
  t.equal(operations(moved, "delete_run").length, 0, "runs of fires that stay are kept");
  t.match(put({ ...daily, active: false }).reply, { body: { id, active: false } });
  t.match(put(daily).reply, { body: { id, active: false } }, "a pause stays");
  t.match(put({ ...daily, active: true }).reply, { body: { id, active: true } });
  t.match(put(daily, "us").reply, { status: 201 }, "another key is another schedule");
  t.match(put({ ...daily, cron: "no" }).reply, { status: 422 });
  t.match(kit.send("PutSchedule", { target: 99, targetName: "x", body: daily }).reply, { status: 404 });
});

t.test("a declaration in code with the key of a person's schedule is an error, not a second schedule", async (t) => {
  const kit = kitWithFlow();
  kit.send("PutSchedule", { target: 1, targetName: "eu", body: daily });
  const schedules = [{ ...daily, key: "eu" }];
  kit.register([
    { project: "shop", flow: "job", module: MODULE, source_dir: SOURCE_DIR, parameter_schema, options: { schedules } },
  ]);
  t.match(
    kit.state.flowByName("shop", "job")?.schedule_error,
    /the key "eu" is that of a schedule that was not declared in code/,
  );
  t.equal(kit.state.schedules.all().length, 1);
});

t.test("declared parameters follow the code: a changed declaration changes the runs to come", async (t) => {
  const kit = new DispatchKit();
  const flow = (region: string) => ({
    ...{ project: "shop", flow: "job", module: MODULE, source_dir: SOURCE_DIR, parameter_schema },
    options: { schedules: [{ ...daily, key: "a", parameters: { region } }] },
  });
  t.same(parametersIn(kit.register([flow("eu")]))[0], { hour: 0, region: "eu" });
  const changed = kit.register([flow("apac")]);
  t.same(parametersIn(changed)[0], { hour: 0, region: "apac" });
  t.same(parametersIn(kit.register([flow("apac")])), [], "the same declaration again changes nothing");
  const [schedule] = kit.state.schedules.all();
  const held = [...(schedule?.runs.keys() ?? [])];
  t.equal(held.length, 3);
});

t.test("the run of a fire is handed out with its rendered parameters", async (t) => {
  const kit = kitWithFlow();
  sent(kit, { day: "{{ fire.time }}" }, { kind: "interval", interval: 60, anchor: START_US, cron: undefined });
  const parked = poll(kit, "e1", { owns_stop: true });
  kit.pass(59 * SECOND);
  t.match(workOf(kit.pass(2 * SECOND), parked.command), { parameters: { day: "09:01:00" } });
});

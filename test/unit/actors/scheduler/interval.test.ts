import t from "tap";
import { SCHEDULE_INTERVAL_SECONDS_MIN } from "#protocol/limits";
import { every } from "#sdk/define/schedules";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { createId, move } from "../../../support/dispatch-steps.ts";

const BELOW = { kind: "interval", interval: 0.001 };
const ERROR = "interval must be at least 1 s (SCHEDULE_INTERVAL_SECONDS_MIN)";

function flowOf(options: Record<string, unknown> = {}) {
  return { project: "shop", flow: "job", module: "jobs.py", source_dir: "/flows", tags: [], parameter_schema: null, options };
}

t.test("an interval below the limit is refused by whoever sends it, with the name of the limit", async (t) => {
  const kit = new DispatchKit();
  move(kit, createId(kit), "Cancelled");
  const made = kit.send("CreateSchedule", { target: 1, body: { kind: "interval", interval: SCHEDULE_INTERVAL_SECONDS_MIN } });
  t.equal(made.reply?.status, 201, "the limit itself is taken");
  for (const refused of [
    kit.send("CreateSchedule", { target: 1, body: BELOW }),
    kit.send("CreateSchedule", { target: 1, body: { ...BELOW, interval: 0.999 }, mcpClient: "agent" }),
    kit.send("PreviewSchedule", { body: BELOW }),
    kit.send("PatchSchedule", { target: 1, body: { interval: 0.5 } }),
  ])
    t.match(refused.reply, { status: 422, body: { error: ERROR } });
  kit.register([flowOf({ schedules: [BELOW] })] as never);
  t.equal(kit.state.flowByName("shop", "job")?.schedule_error, `schedule 0: ${ERROR}`, "a declaration in code too");
  t.throws(() => every("500ms"), { message: /at least 1 s \(SCHEDULE_INTERVAL_SECONDS_MIN\)/ });
});

t.test("a schedule that is stored with a shorter interval goes on, and its other fields can be changed", async (t) => {
  const kit = new DispatchKit();
  move(kit, createId(kit), "Cancelled");
  kit.send("CreateSchedule", { target: 1, body: { kind: "interval", interval: 60, anchor: 0 } });
  const schedule = kit.state.schedules.get(1);
  if (schedule?.spec.kind === "interval") schedule.spec.interval = 0.5;
  const edited = kit.send("PatchSchedule", { target: 1, body: { timezone: "Europe/Berlin" } });
  t.match(edited.reply, { status: 200, body: { schedule: { interval: 0.5, timezone: "Europe/Berlin" } } });
  t.match(kit.send("PatchSchedule", { target: 1, body: { interval: 0.4 } }).reply, { status: 422 });
});

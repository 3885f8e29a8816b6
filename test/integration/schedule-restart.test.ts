import t from "tap";
import type { Run } from "#sdk/client/index";
import { startRestarted } from "../support/restarted-server.ts";

const STEP_US = 1_000_000;
/** Long enough for three fires, however fast the server starts again. */
const MISSED_MS = 3_200;
const schema = { type: "object", properties: { day: { type: "string", format: "date" } } };
const reference = { flow: "tick", project: "clock", module: "tick.ts", source_dir: "/nowhere" };

/** Polls until there is an answer; the test's own time limit bounds it. */
async function until<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
  }
}

t.test("schedules and skips over a restart", async (t) => {
  const server = await startRestarted(t);
  const flow = (await server.client.runs.create({ ...reference, parameter_schema: schema })).flow_id;
  const runsOf = async (schedule: number): Promise<Run[]> =>
    (await server.client.runs.list({ schedule_id: schedule }, { pageSize: 500 }).first(10_000)) as Run[];

  await t.test("each fire has one run, those missed while the server was down included", async (t) => {
    const { id } = await server.client.schedules.create(flow, {
      kind: "interval",
      interval: STEP_US / 1e6,
      catchup: "all",
      catchup_max: 1000,
    });
    await until(
      async () => ((await server.client.schedules.list(flow))[0]?.next_fire ?? 0) > Date.now() * 1000 - STEP_US || undefined,
    );
    await server.restart(MISSED_MS);
    const [event] = await until(async () => {
      const events = await server.client.events.list({ name: "schedule.catchup" }).first(1);
      return events.length > 0 ? events : undefined;
    });
    t.match(event?.payload, { policy: "all", dropped: 0, schedule_id: id });
    await server.client.schedules.pause(id);
    const fires = (await runsOf(id)).map((run) => run.scheduled_time ?? 0).sort((a, b) => a - b);
    t.ok(fires.length > 2);
    t.same(
      fires.map((fire) => (fire - (fires[0] ?? 0)) / STEP_US),
      fires.map((_, index) => index),
      "no fire is left out, none comes twice",
    );
  });

  await t.test("look-ahead, skips and pauses are as they were", async (t) => {
    const { id } = await server.client.schedules.create(flow, { kind: "cron", cron: "0 3 * * *", timezone: "Asia/Kolkata" });
    const { skipped } = await server.client.schedules.skip(id, { next: 1 });
    const deleted = (await server.client.schedules.upcoming(flow))[1];
    if (deleted !== undefined && "id" in deleted) await server.client.runs.delete(deleted.id);
    const before = await server.client.schedules.upcoming(flow, 2);
    await server.restart();
    t.same(await server.client.schedules.upcoming(flow, 2), before);
    t.match((await server.client.schedules.list(flow)).at(-1), { id, skipped: 2 });
    await server.client.schedules.undoSkip(id, skipped[0] ?? 0);
    t.match(await server.client.schedules.upcoming(flow), [{ skipped: false, scheduled_time: skipped[0] }]);
    t.match((await server.client.schedules.list(flow))[0], { active: false, paused_reason: "paused" });
  });
});

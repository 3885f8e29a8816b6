import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { Millrace, type Run } from "#sdk/client/index";
import { loadConfig } from "#server/config";
import { type RunningServer, startServer } from "#server/main";

const STEP_US = 200_000;
const MISSED_MS = 700;
const schema = { type: "object", properties: { day: { type: "string", format: "date" } } };
const reference = { flow: "tick", project: "clock", module: "tick.ts", source_dir: "/nowhere" };

/** Asks again until the answer is there; the test's own time limit bounds it. */
async function until<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
  }
}

t.test("schedules, skips and backfills over a restart", async (t) => {
  const root = t.testdir({ served: {} });
  const [served, home] = [join(root, "served"), join(root, "home")];
  const { config } = loadConfig({ home, host: "127.0.0.1", port: "0", engines: false, open: false }, {}, served);
  let server: RunningServer = await startServer(config, served);
  t.teardown(() => server.stop());
  let client = new Millrace({ url: server.url });
  const restart = async (downMs = 0): Promise<void> => {
    await server.stop();
    await server.stopped;
    // What is missed is time itself: nothing else can be waited for.
    await sleep(downMs);
    server = await startServer(config, served);
    client = new Millrace({ url: server.url });
  };
  const flow = (await client.runs.create({ ...reference, parameter_schema: schema })).flow_id;
  const runsOf = async (schedule: number): Promise<Run[]> =>
    (await client.runs.list({ schedule_id: schedule }, { pageSize: 500 }).first(10_000)) as Run[];

  await t.test("each fire has one run, those missed while the server was down included", async (t) => {
    const { id } = await client.schedules.create(flow, {
      kind: "interval",
      interval: STEP_US / 1e6,
      catchup: "all",
      catchup_max: 1000,
    });
    await until(async () => ((await client.schedules.list(flow))[0]?.next_fire ?? 0) > Date.now() * 1000 - STEP_US || undefined);
    await restart(MISSED_MS);
    const [event] = await until(async () => {
      const events = await client.events.list({ name: "schedule.catchup" }).first(1);
      return events.length > 0 ? events : undefined;
    });
    t.match(event?.payload, { policy: "all", dropped: 0, schedule_id: id });
    await client.schedules.pause(id);
    const fires = (await runsOf(id)).map((run) => run.scheduled_time ?? 0).sort((a, b) => a - b);
    t.ok(fires.length > 2);
    t.same(
      fires.map((fire) => (fire - (fires[0] ?? 0)) / STEP_US),
      fires.map((_, index) => index),
      "no fire is left out, none comes twice",
    );
  });

  await t.test("look-ahead, skips and pauses are as they were", async (t) => {
    const { id } = await client.schedules.create(flow, { kind: "cron", cron: "0 3 * * *", timezone: "Asia/Kolkata" });
    const { skipped } = await client.schedules.skip(id, { next: 1 });
    const deleted = (await client.schedules.upcoming(flow))[1];
    if (deleted !== undefined && "id" in deleted) await client.runs.delete(deleted.id);
    const before = await client.schedules.upcoming(flow, 2);
    await restart();
    t.same(await client.schedules.upcoming(flow, 2), before);
    t.match((await client.schedules.list(flow)).at(-1), { id, skipped: 2 });
    await client.schedules.undoSkip(id, skipped[0] ?? 0);
    t.match(await client.schedules.upcoming(flow), [{ skipped: false, scheduled_time: skipped[0] }]);
    t.match((await client.schedules.list(flow))[0], { active: false, paused_reason: "paused" });
  });

  await t.test("a backfill keeps its counts, and its check is still to be answered", async (t) => {
    await client.runs.create({ ...reference, flow: "fill", parameter_schema: schema, options: { has_bulk_complete: true } });
    const fill = (await client.flows.list()).find(({ name }) => name === "fill")?.id ?? 0;
    const made = await client.backfills.create(fill, { parameter: "day", start: "2026-01-01", end: "2026-01-05" });
    t.match(made, { total: 5, counts: { Scheduled: 5 }, cancelled: false });
    await restart();
    t.same(await client.backfills.get(made.id), made);
    t.same(await client.backfills.list(fill), [made]);
    t.match(await client.backfills.cancel(made.id), { cancelled: true, counts: { Cancelled: 5 } });
    await restart();
    t.match(await client.backfills.cancel(made.id), { cancelled: true, counts: { Cancelled: 5 } }, "known from the store");
  });
});

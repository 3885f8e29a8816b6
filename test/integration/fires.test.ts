/** Missed fires across a clock change, in real engines: each gets its run, and each run knows its fire. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { Millrace, type Run } from "#sdk/client/index";
import { openDriver } from "#storage/sqlite/driver";
import { serving, startCommand } from "../support/command-line.ts";
import { oracleFires } from "../support/cron-oracle.ts";
import { testFolder } from "../support/test-folder.ts";

const ZONE = "Europe/Berlin";
/** At a time of day that the clock change on the last Sunday of March leaves out. */
const CRON = "30 2 22-31 3 *";
const MINUTE_MS = 60_000;

/** The third missed fire kills its engine in the first attempt, and with it the runs beside it. */
const FLOWS = `
import { cron, flow, run, Type } from "millrace";
const parameters = Type.Object({ day: Type.String({ format: "date" }), region: Type.String(), victim: Type.Boolean({ default: false }) });
const schedules = [cron("${CRON}", {
  timezone: "${ZONE}", catchup: "all", key: "spring",
  parameters: { region: "eu", day: "{{ fire.date }}", victim: "{{ 'yes' if fire.day == 24 else 'no' }}" },
})];
export const daily = flow("daily", { parameters, schedules, tags: ["etl"] }, ({ day, region, victim }) => {
  if (victim && run.attempt === 1) process.kill(process.pid, "SIGKILL");
  const { fireTime, schedule, createdBy, tags, attempt } = run;
  return { day, region, fireTime, schedule, createdBy, tags, attempt };
});
`;

interface Told {
  day: string;
  region: string;
  fireTime: string;
  schedule: { id: number; key: string };
  createdBy: string;
  tags: string[];
  attempt: number;
}

t.test("catch-up of ten days across a clock change gives the fires of the oracle, also after a crash and a retry", async (t) => {
  const dir = testFolder(t, { "daily.ts": FLOWS, "millrace.toml": "[server]\ncrash_rerun_delay_secs = 0.1\n" });
  const home = mkdtempSync(join(tmpdir(), "millrace-home-"));
  t.teardown(() => rmSync(home, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 }));
  const start = async () => {
    const server = startCommand(["serve", ".", "--home", home, "--port", "0", "--no-open"], { cwd: dir });
    await serving(t, server);
    return server;
  };
  const stop = async (server: ReturnType<typeof startCommand>) => {
    server.child.kill("SIGTERM");
    await server.ended;
  };

  const first = await start();
  const client = new Millrace({ home });
  const flow = (await client.flows.list()).find(({ name }) => name === "daily");
  t.match(flow?.schedules, [{ code_key: "spring", parameters: { region: "eu" } }], flow?.schedule_error ?? "");
  await stop(first);

  // The server was last up before the latest March that is over.
  const now = new Date();
  const year = now.getUTCFullYear() - (now.getTime() < Date.UTC(now.getUTCFullYear(), 3, 2) ? 1 : 0);
  const since = Date.UTC(year, 2, 20);
  const database = openDriver(join(home, "db.sqlite"), { readonly: false, busyWaitMs: 1_000 });
  database.prepare("UPDATE schedules SET consumed_until = ?").run(since * 1000);
  database.close();
  const expected = oracleFires(ZONE, [{ text: CRON, dayOr: true }], since / MINUTE_MS, Date.UTC(year, 3, 2) / MINUTE_MS)[0] ?? [];
  t.equal(expected.length, 10);

  const second = await start();
  const again = new Millrace({ home });
  const ended = await finished(again, expected.length);
  const told = await Promise.all(ended.map(async ({ id }) => (await again.waitFor(id)).result as Told));
  const byFire = told.toSorted((a, b) => a.fireTime.localeCompare(b.fireTime));
  t.same(
    byFire.map(({ fireTime }) => Date.parse(fireTime) * 1000),
    expected,
    "one completed run for each fire, which it knows",
  );
  t.same(
    byFire.map(({ day }) => day),
    Array.from({ length: 10 }, (_, at) => `${year}-03-${22 + at}`),
    "parameters are of the fire, in the zone of the schedule",
  );
  for (const each of byFire) t.match(each, { region: "eu", schedule: { key: "spring" }, tags: ["etl"] });
  t.ok(byFire[2]?.createdBy.startsWith("crash:"), "the run whose engine was killed was run again");
  t.equal(byFire[2]?.attempt, 2);

  const rerun = ended.find(({ fire_time }) => fire_time === expected[2]);
  const retried = await again.runs.retry(rerun?.id ?? 0);
  t.match(retried, { fire_time: expected[2], scheduled_time: null, schedule_id: rerun?.schedule_id });
  const { run } = await again.waitFor(retried.id);
  t.match(run.parameters, { day: `${year}-03-24` });
  await stop(second);
});

/** The completed runs of the schedule, once each fire has one. */
async function finished(client: Millrace, count: number): Promise<Run[]> {
  const completed = async () => {
    const runs = (await client.runs.list({ flow: "daily" }, { pageSize: 500 }).first(1_000)) as Run[];
    return runs.filter(({ state }) => state.name === "Completed");
  };
  const stream = client.stream();
  for await (const { event } of stream) {
    if (event !== "hello" && event !== "run.updated") continue;
    const runs = await completed();
    if (runs.length >= count) return runs;
  }
  throw new Error("the stream has ended");
}

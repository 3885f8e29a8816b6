/** The commands for schedules, with a real server and a schedule in a different zone from the machine's. */
import { join } from "node:path";
import t from "tap";
import { startText } from "#cli/runs/runs";
import { Millrace, type Run } from "#sdk/client/index";
import { millrace, serve } from "../support/command-line.ts";

const FLOW = { project: "shop", flow: "orders", module: "shop.py", source_dir: "/nowhere" };
/** Far from the zone of any test machine, and without daylight saving. */
const ZONE = "Pacific/Kiritimati";

t.test("skipping, taking it back and resuming name fires in the zone of their schedule", { timeout: 120_000 }, async (t) => {
  const folder = t.testdir();
  const home = join(folder, "home");
  await serve(t, folder, home);
  const client = new Millrace({ home });
  const { flow_id } = await client.runs.create(FLOW);
  const schedule = await client.schedules.create(flow_id, { kind: "cron", cron: "0 6 * * *", timezone: ZONE });
  const id = String(schedule.id);
  const said = async (...args: string[]) => (await millrace("schedules", ...args, "--home", home)).out.trim();
  t.match(await said("skip", id, "--next", "1"), /^Skipped \d{4}-\d\d-\d\d 06:00:00 Pacific\/Kiritimati\.$/);
  const next = new RegExp(`^Schedule ${id} runs next \\d{4}-\\d\\d-\\d\\d 06:00:00 Pacific/Kiritimati\\.$`);
  t.match(await said("skip", id, "--undo", String(schedule.next_fire)), next);
  await said("pause", id);
  t.match(await said("resume", id), next);
});

t.test("the list has keys, and intervals as they are written; a skipped run never starts", { timeout: 120_000 }, async (t) => {
  const folder = t.testdir();
  const home = join(folder, "home");
  await serve(t, folder, home);
  const client = new Millrace({ home });
  const { flow_id, id: run_id } = await client.runs.create(FLOW);
  for (const [key, interval] of [
    ["often", 90],
    ["six-hours", 21_600],
    ["daily", 86_400],
  ] as const)
    await client.schedules.put(flow_id, key, { kind: "interval", interval });
  const { out } = await millrace("schedules", "ls", "--home", home);
  t.match(out, /often +every 90s/);
  t.match(out, /six-hours +every 6h/);
  t.match(out, /daily +every 1d/);
  await client.runs.cancel(run_id);
  const fires = await client.runs.list({ state_type: "Scheduled" }).first(100);
  t.ok(fires.length > 20 && fires.every((fire) => fire.id > run_id), "fires are kept in advance");
  const [listed] = JSON.parse((await millrace("runs", "ls", "--json", "--home", home)).out);
  t.equal(listed.id, run_id, "what has run comes before the fires that are not due");
  const state = { type: "Completed", name: "Skipped" } as Run["state"];
  t.equal(startText({ start_time: null, state }), "never");
  t.equal(startText({ start_time: null, state: { ...state, type: "Scheduled", name: "Scheduled" } }), "not yet");
});

/**
 * A step of the clock is shown on every page, with the schedules that are silent because of it, until a person accepts the
 * clock.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { Millrace } from "#sdk/client/index";
import { startHardenedServer } from "../hardening/hardened-server.ts";
import { launch, openTab } from "./browser.ts";

const DAY_MS = 86_400_000;

const clock = join(t.testdir({ offset: "0" }), "offset");
const server = await startHardenedServer([], undefined, { clock });
const browser = await launch();
t.teardown(async () => {
  await browser.close();
  await server.stop();
});

async function setClock(client: Millrace, days: number): Promise<void> {
  const before = (await client.events.list({ name: "clock.stepped" }).page()).items.length;
  writeFileSync(clock, String(days * DAY_MS));
  while ((await client.events.list({ name: "clock.stepped" }).page()).items.length === before);
}

t.test("the banner names the step and the silent schedule, and goes when the clock is accepted", async (t) => {
  const client = new Millrace({ url: server.url });
  const { flow_id } = await client.runs.create({ flow: "nightly", project: "p", module: "m.ts", source_dir: "/nowhere" });
  const { id } = await client.schedules.create(flow_id, { kind: "interval", interval: 86_400 });
  const { page, complaints } = await openTab(browser);
  await page.goto(`${server.url}/runs`);
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  const banner = page.getByRole("status").filter({ hasText: "The clock of this machine was set" });
  t.equal(await banner.count(), 0);
  await setClock(client, 100);
  await banner.filter({ hasText: "set forward by 100 days" }).waitFor();
  await setClock(client, 0);
  await banner.filter({ hasText: "set back by 100 days" }).waitFor();
  await banner.filter({ hasText: `nightly (schedule ${id})` }).waitFor();
  t.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
  await page.getByRole("button", { name: "The clock is right\u2026" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "The clock is right" }).click();
  await banner.waitFor({ state: "detached" });
  t.equal((await client.server()).clock_problem, null);
  t.same(complaints, []);
});

/** Overview, flows, schedules and backfills: the pages show the server's data, and their main tasks work by keyboard. */
import t from "tap";
import { browse } from "./browse.ts";
import { openTab } from "./browser.ts";
import { startScene } from "./scene.ts";

const scene = await startScene();
const { server, browser, open } = await browse(t, scene.server);

t.test("the overview says what needs somebody, and a bar of the strip leads to its runs", async (t) => {
  const { page, context, complaints } = await open("/");
  await page.getByRole("heading", { level: 1, name: /waits for your answer.*flows are failing/ }).waitFor();
  await page.getByText("Asks: Send 42 invoices, 18,240.50 EUR in total?").waitFor();
  await page.getByText(/2 of 2 taken/).waitFor();
  // Re-read until both agree, because a run of a schedule may end in between.
  await page.waitForFunction(async () => {
    const { quarters } = (await (await fetch("/api/stats")).json()) as { quarters: { states: Record<string, number> }[] };
    const ended = quarters.flatMap(({ states }) => Object.values(states)).reduce((sum, count) => sum + count, 0);
    return document.querySelector("main")?.textContent?.includes(`In the last 24 h ${ended} runs ended`);
  });
  await page.locator(".fires > li").nth(9).waitFor();
  t.equal(await page.locator(".fires > li").count(), 10);
  const current = page.locator(".bar-links a[tabindex='0']");
  await current.focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/runs\?ended_from=\d+&ended_to=\d+/);
  await page
    .getByRole("row", { name: /embed_support_tickets/ })
    .first()
    .waitFor();
  t.same(complaints, []);
  await context.close();
});

t.test(
  "what needs somebody has questions first and single failures last, frequent failures, and files that do not load",
  async (t) => {
    for (let count = 0; count < 2; count += 1) await server.until(await server.run("embed_support_tickets"), "Failed");
    const stations = [40, 40, 5].map((count) => server.run("ingest_station_observations", { count }));
    for (const run of await Promise.all(stations)) await server.until(run, "Failed", "Completed");
    const good = await server.run("ingest_station_observations", { count: 1 });
    await server.until(good, "Completed");
    server.addFile("broken.ts", 'import "millrace";\nthrow new Error("no such table: prices");\n');
    const { page, context, complaints } = await open("/");
    const rows = page.locator(".needs > li");
    await rows.filter({ hasText: "broken.ts" }).filter({ hasText: "no such table: prices" }).waitFor();
    await rows.filter({ hasText: "Fails often" }).filter({ hasText: "ingest_station_observations" }).waitFor();
    await rows.filter({ hasText: "Failed 3 times in a row" }).waitFor();
    const texts = await rows.allTextContents();
    const order = [/Paused for input/, /broken\.ts/, /Failed 3 times in a row/, /Fails often/, /^Failed [^0-9]/];
    const places = order.map((wanted) => texts.findIndex((text) => wanted.test(text)));
    t.equal(places[0], 0);
    t.same(
      places,
      [...places].sort((a, b) => a - b),
    );
    t.notOk(places.includes(-1), texts.join("\n"));
    const title = await page.getByRole("heading", { level: 1 }).textContent();
    for (const part of ["waits for your answer", "file is in error", "failing", "fails often", "is full"]) t.match(title, part);
    t.same(complaints, []);
    await context.close();
  },
);

t.test("a schedule that fires each minute is drawn over the whole of the next week", async (t) => {
  const flow = await server.flowId("sync_stock_levels");
  const { id } = await server.client.schedules.create(flow, { kind: "cron", cron: "* * * * *" });
  const { page, context, complaints } = await open("/schedules?away=1");
  const row = page.getByRole("row").filter({ has: page.locator(`a[href*='schedule=${id}']`) });
  await row.locator(".cal-band").nth(6).waitFor();
  const widths = await row.locator("td").evaluateAll((cells) =>
    cells.map((cell) => {
      const bands = [...cell.querySelectorAll<HTMLElement>(".cal-band")];
      return Math.round(bands.reduce((sum, band) => sum + Number.parseFloat(band.style.width), 0));
    }),
  );
  t.same(widths, Array(7).fill(100));
  await server.client.schedules.delete(id);
  t.same(complaints, []);
  await context.close();
});

t.test("the agenda lists runs of one hour individually", async (t) => {
  const [schedule] = await server.client.schedules.list(await server.flowId("sync_stock_levels"));
  const { page, context } = await openTab(browser);
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000_000 - 3_600_000_000;
  const run = (minute: number, id: number) => [schedule?.id, hour + minute * 60_000_000, 1, "Failed", "Failed", id];
  // Mocked, because real runs of past fires would require waiting.
  await page.route("**/api/schedules/runs?*", async (route) => {
    const each = Number(new URL(route.request().url()).searchParams.get("each"));
    const merged = [[schedule?.id, hour + 5 * 60_000_000, 2, "Failed", "Failed", 2]];
    await route.fulfill({ json: each >= 2 ? [run(0, 1), run(5, 2)] : merged });
  });
  // In the first hour of the day, as the browser sees the day, these runs are of yesterday.
  const isFirstHour = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", timeZone: "Europe/Berlin" }).format() === "00";
  await page.goto(`${server.url}/schedules?view=agenda&away=${isFirstHour ? -1 : 0}`);
  const failed = page.locator(".agenda-rows li").filter({ hasText: "Failed" });
  await failed.nth(1).waitFor();
  t.same(
    (await failed.locator("time").allTextContents()).map((text) => text.slice(-2)),
    ["00", "05"],
  );
  await context.close();
});

t.test("in a narrow window the chosen tab is in view, and the schedules begin with today", async (t) => {
  const { page, context } = await open(`/runs/${scene.completed.id}?tab=input`, { width: 390, height: 844 });
  const tab = page.locator(".tabs [aria-current]");
  await tab.getByText("Input").waitFor();
  await page.waitForFunction(() => {
    const { left, right } = document.querySelector(".tabs [aria-current]")?.getBoundingClientRect() ?? { left: -1, right: 0 };
    return left >= 0 && right <= window.innerWidth;
  });
  await page.goto(`${server.url}/schedules`);
  await page.locator(".agenda h2").first().waitFor();
  const weekday = new Intl.DateTimeFormat("en-GB", { weekday: "short", timeZone: "Europe/Berlin" }).format(new Date());
  t.match(await page.locator(".agenda h2").first().textContent(), weekday);
  t.equal(await page.locator(".agenda h2").count(), 7);
  t.same(await page.getByRole("group", { name: "View" }).getByRole("button").allTextContents(), ["Day", "Week"]);
  await context.close();
});

t.test("a run that ended without tasks has none, not none yet", async (t) => {
  const run = await server.run("embed_support_tickets");
  await server.until(run, "Failed");
  const { page, context } = await open(`/runs/${run.id}?tab=tasks`);
  for (const tab of ["tasks", "timeline", "graph"]) {
    await page.goto(`${server.url}/runs/${run.id}?tab=${tab}`);
    await page.getByText("No tasks", { exact: true }).waitFor();
  }
  t.equal(await page.getByText("No tasks yet").count(), 0);
  await context.close();
});

t.test("fires are skipped by keys, and a skip is taken back", async (t) => {
  const { page, context, complaints } = await open("/schedules");
  await page
    .getByRole("link", { name: /ingest_station_observations/ })
    .first()
    .waitFor();
  await page.keyboard.press("j");
  const panel = page.getByRole("complementary", { name: "The chosen schedule" });
  await panel.waitFor();
  await page.keyboard.press("s");
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("2");
  await panel.getByRole("button", { name: "Skip 2 fires" }).waitFor();
  await page.keyboard.press("Enter");
  await panel.getByRole("heading", { name: "Skipped", exact: true }).waitFor();
  const skipped = async () => (await server.client.schedules.fires()).flatMap(({ skipped }) => skipped);
  t.match(await skipped(), [{ by: "ui" }, { by: "ui" }]);
  await panel.getByRole("button", { name: /^Undo/ }).first().click();
  await page.getByText("The fire runs again.").waitFor();
  t.equal((await skipped()).length, 1);
  t.same(complaints, []);
  await context.close();
});

t.test("fires beyond the days that are shown can be skipped too", async (t) => {
  const flow = await server.flowId("ingest_station_observations");
  const { id } = await server.client.schedules.create(flow, { kind: "cron", cron: "0 4 1 1 *" });
  const { page, context, complaints } = await open(`/schedules?schedule=${id}`);
  const panel = page.getByRole("complementary", { name: "The chosen schedule" });
  await panel.getByRole("spinbutton", { name: /Skip the next/ }).fill("2");
  await panel.getByRole("button", { name: "Skip 2 fires" }).click();
  await panel.getByRole("heading", { name: "Skipped", exact: true }).waitFor();
  const [of] = await server.client.schedules.fires({ schedule_id: id });
  t.equal(of?.skipped.length, 2);
  await server.client.schedules.delete(id);
  t.same(complaints, []);
  await context.close();
});

t.test("a schedule is made while its next fires show, and what cannot be read is said at its field", async (t) => {
  const { page, context } = await open("/schedules");
  await page.getByRole("button", { name: /New schedule/ }).click();
  await page.getByLabel("Flow", { exact: true }).selectOption({ label: "flows / embed_support_tickets" });
  const cron = page.getByRole("textbox", { name: /^Cron/ });
  await cron.fill("61 * * * *");
  await page.locator("[aria-invalid=true]").waitFor();
  t.ok(await page.getByRole("button", { name: "Make schedule" }).isDisabled());
  await cron.fill("30 2 * * *");
  await page.getByLabel("Time zone").fill("Asia/Tokyo");
  await page.getByRole("columnheader", { name: "Asia/Tokyo" }).waitFor();
  await page.getByRole("cell", { name: "17:30" }).first().waitFor();
  t.equal(await page.locator(".preview tbody tr").count(), 10);
  await page.getByRole("button", { name: "Make schedule" }).click();
  await page.getByText("Schedule made: daily 02:30.").waitFor();
  const made = await server.client.schedules.list(await server.flowId("embed_support_tickets"));
  t.match(made, [{ source: "ui", schedule: { cron: "30 2 * * *", timezone: "Asia/Tokyo" } }]);
  await context.close();
});

t.test("the parameters of a schedule are written and edited in its form, which shows what the flow refuses", async (t) => {
  const { page, context } = await open("/schedules");
  const flow = await server.flowId("build_regional_summary");
  const parametersOf = async () => (await server.client.schedules.list(flow)).map(({ parameters }) => parameters);
  await page.getByRole("button", { name: /New schedule/ }).click();
  await page.getByLabel("Flow", { exact: true }).selectOption({ label: "flows / build_regional_summary" });
  const parameters = page.getByRole("textbox", { name: /^Parameters/ });
  const make = page.getByRole("button", { name: "Make schedule" });
  await parameters.fill("day");
  await make.click();
  await page.getByRole("alert").getByText("The parameters are no JSON object.").waitFor();
  await parameters.fill('{ "day": "{{ fire.dote }}", "region": "eu" }');
  await make.click();
  await page
    .getByRole("alert")
    .getByText(/undefined value: dote/)
    .waitFor();
  t.same(await parametersOf(), [], "nothing was made of either");
  await parameters.fill('{ "day": "{{ fire.date }}", "region": "eu" }');
  await make.click();
  await page.getByText(/^Schedule made/).waitFor();
  t.same(await parametersOf(), [{ day: "{{ fire.date }}", region: "eu" }]);
  const [schedule] = await server.client.schedules.list(flow);
  await page.goto(`${server.url}/schedules?edit=${schedule?.id}`);
  t.same(JSON.parse(await parameters.inputValue()), { day: "{{ fire.date }}", region: "eu" }, "the form has what is stored");
  await parameters.fill('{ "day": "{{ fire.date }}", "region": 7 }');
  await page.getByRole("button", { name: "Save" }).click();
  await page
    .getByRole("alert")
    .getByText(/"region"/)
    .waitFor();
  await parameters.fill('{ "day": "{{ fire.date }}", "region": "us" }');
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(/^Schedule changed/).waitFor();
  t.same(await parametersOf(), [{ day: "{{ fire.date }}", region: "us" }]);
  t.equal((await server.client.schedules.list(flow))[0]?.id, schedule?.id);
  await server.client.schedules.delete(schedule?.id ?? 0);
  await context.close();
});

t.test("a flow is run by the form of its schema; what the server refuses stands at the field", async (t) => {
  const { page, context, complaints } = await open("/flows");
  await page.getByRole("link", { name: "ingest_station_observations" }).click();
  await page.getByRole("heading", { level: 1, name: "ingest_station_observations" }).waitFor();
  const count = page.getByRole("textbox", { name: "count" });
  t.equal(await count.inputValue(), "12", "the default of the schema");
  await count.fill("many");
  await page.keyboard.press("Enter");
  await page
    .getByRole("alert")
    .getByText(/parameter "count": expected/)
    .waitFor();
  await count.fill("2");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/runs\/\d+/);
  const id = Number(/\d+$/.exec(page.url())?.[0]);
  t.match((await server.client.runs.get(id)).parameters, { count: 2 });
  t.same(
    complaints.filter((text) => !text.includes("422")),
    [],
  );
  await context.close();
});

t.test("a backfill is tried dry, made, and cancelled; only dates are offered", async (t) => {
  const { page, context, complaints } = await open(`/backfills?flow=${await server.flowId("issue_invoices_monthly")}`);
  await page.getByText("It has no parameter that is a date or a time").waitFor();
  await page.getByLabel("Flow", { exact: true }).selectOption({ label: "flows / build_regional_summary" });
  const parameter = page.getByLabel("Parameter", { exact: true });
  t.same(await parameter.locator("option").allTextContents(), ["day"], "the region is a text");
  await page.getByRole("textbox", { name: /First value/ }).fill("2026-10-01");
  await page.getByRole("textbox", { name: /Last value/ }).fill("2026-10-12");
  await page.keyboard.press("Enter");
  await page.getByText(/It would create 12 runs/).waitFor();
  t.same(await server.client.backfills.newest(), [], "the dry run made nothing");
  await page.getByRole("button", { name: "Create 12 runs" }).click();
  await page.getByRole("heading", { level: 1, name: /^Backfill \d/ }).waitFor();
  await page.locator(".value-grid li").nth(11).waitFor();
  await page.getByRole("button", { name: /^Cancel/ }).click();
  await page.getByRole("button", { name: "Cancel 12 runs" }).click();
  await page.locator(".value-grid li.s-cancelled").nth(11).waitFor();
  t.match(await server.client.backfills.newest(), [{ cancelled: true }]);
  await page.goto(`${server.url}/queue`);
  await page.locator(".resources li").filter({ hasText: "db-warehouse" }).waitFor();
  t.equal(await page.getByText(/the cap of backfill/).count(), 0, "nothing of it is left among the resources");
  t.same(complaints, []);
  await context.close();
});

t.test("what the server says of a backfill stands at its field", async (t) => {
  const { page, context } = await open(`/backfills?flow=${await server.flowId("build_regional_summary")}`);
  await page.getByRole("textbox", { name: /First value/ }).fill("tomorrow");
  await page.keyboard.press("Enter");
  await page
    .getByRole("alert")
    .getByText(/cannot parse "tomorrow"/)
    .waitFor();
  t.equal(await page.getByRole("textbox", { name: /First value/ }).getAttribute("aria-invalid"), "true");
  await context.close();
});

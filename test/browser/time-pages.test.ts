/** Overview, flows, schedules and backfills: what they show is the server's, and their main tasks are done by keys. */
import t from "tap";
import { launch, openTab } from "./browser.ts";
import { startScene } from "./scene.ts";

const scene = await startScene();
const { server } = scene;
const browser = await launch();
t.teardown(async () => {
  await browser.close();
  await server.close();
});

async function open(path: string) {
  const tab = await openTab(browser);
  await tab.page.goto(server.url + path);
  return tab;
}

t.test("the overview says what needs somebody, and a bar of the strip leads to its runs", async (t) => {
  const { page, context, complaints } = await open("/");
  await page.getByRole("heading", { level: 1, name: /flows are failing.*waits for your answer/ }).waitFor();
  await page.getByText("Asks: Send 42 invoices, 18,240.50 EUR in total?").waitFor();
  await page.getByText(/2 of 2 taken/).waitFor();
  // Asked anew until both say the same: a run of a schedule may end in between.
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

/** Eight tasks from start to end with the keyboard only. */
import type { Page } from "playwright-core";
import t from "tap";
import { browse } from "./browse.ts";

const { server, open } = await browse(t);

const failed = await server.run("ingest_station_observations", { count: 20 });
const running = await server.run("export_orders_to_erp");
const paused = await server.run("approve_invoices");
await server.until(failed, "Failed");
await server.until(running, "Running");
await server.until(paused, "Paused");

const { page } = await open("/");
await page.getByText("Live", { exact: true }).waitFor();

const press = async (...keys: string[]) => {
  for (const key of keys) await page.keyboard.press(key);
};

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let steps = 0; steps < 60; steps += 1) {
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted) === true, selector)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`${selector} is not reached by Tab`);
}

async function jumpTo(runId: number): Promise<void> {
  // A closing dialog still receives the keys.
  await page.locator("dialog").waitFor({ state: "detached" });
  await press("Control+k");
  await page.getByRole("combobox", { name: "Search or jump to" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.type(`#${runId}`);
  await press("Enter");
  await page.waitForURL(new RegExp(`/runs/${runId}$`));
  await page.locator(".panel > *").first().waitFor();
}

t.test("1: find what went wrong", async () => {
  await press("g", "r");
  await page.getByRole("table", { name: "Runs" }).waitFor();
  await press("f");
  await page.waitForURL(/states=Failed%2CCrashed/);
  await page.waitForFunction(() => {
    const marks = [...document.querySelectorAll("table.table:not(.stale) tr[data-index] .state")];
    return marks.length > 0 && marks.every((mark) => mark.textContent === "Failed");
  });
});

t.test("2: open it", async () => {
  await press("j", "Enter");
  await page.waitForURL(new RegExp(`/runs/${failed.id}`));
  await page.getByRole("heading", { level: 1, name: failed.name }).waitFor();
});

t.test("3: read its first error", async (t) => {
  await press("l");
  await page.locator(".log li.line").first().waitFor();
  await press("e");
  await page.locator(".log li.error").first().waitFor();
  t.equal(await page.locator(".log li.error").first().isVisible(), true);
});

t.test("4: run it again with another parameter", async (t) => {
  await press("r");
  await page.locator("dialog button:focus").waitFor();
  await press("Shift+Tab", "Shift+Tab", "Control+a");
  await page.keyboard.type("2");
  await press("Enter");
  await page.waitForURL((url) => !url.pathname.endsWith(`/${failed.id}`));
  const made = Number(/\/runs\/(\d+)/.exec(page.url())?.[1]);
  t.match((await server.client.runs.get(made)).parameters, { count: 2 });
});

t.test("5: answer a question", async (t) => {
  await jumpTo(paused.id);
  await tabTo(page, "#parameter-send");
  await page.keyboard.type("true");
  await press("Tab");
  await page.keyboard.type("by keys");
  await press("Enter");
  await server.until(paused, "Completed");
  t.match((await server.client.runs.get(paused.id)).state.details, { result: { send: true, note: "by keys" } });
});

t.test("6: cancel a run", async () => {
  await jumpTo(running.id);
  await press("c");
  await page.getByRole("button", { name: "Keep running" }).and(page.locator(":focus")).waitFor();
  await press("Tab", "Enter");
  await server.until(running, "Cancelled");
});

t.test("7: store a variable", async (t) => {
  await press("g", "v");
  await page.getByText("No variables yet").waitFor();
  await press("n");
  await page.locator("dialog input:focus").waitFor();
  await page.keyboard.type("limits/rows");
  await press("Tab");
  await page.keyboard.type("500");
  await press("Tab", "Enter");
  await page.getByRole("row", { name: /limits\/rows/ }).waitFor();
  t.equal((await server.client.variables.get("limits/rows")).value, 500);
});

t.test("8: change the theme, and switch single keys off", async (t) => {
  await page.locator("dialog").waitFor({ state: "detached" });
  await press("t");
  t.equal(await page.evaluate(() => document.documentElement.dataset["theme"]), "dark");
  await press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await tabTo(page, "dialog input[type=checkbox]");
  await press("Space", "Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
  await press("t");
  t.equal(await page.evaluate(() => document.documentElement.dataset["theme"]), "dark", "t does nothing now");
});

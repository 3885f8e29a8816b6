/** Queue and engines, rules, events and settings: what they show is the server's, and their main tasks are done by keys. */
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

t.test("the queue says what is held up and by whom; a reason is a filter, and a row opens by keys", async (t) => {
  const { page, context, complaints } = await open("/queue");
  await page.getByRole("heading", { level: 1, name: "2 runs wait for db-warehouse." }).waitFor();
  const resources = page.locator(".resources li").filter({ hasText: "db-warehouse" });
  await resources.getByText("2 wait", { exact: true }).waitFor();
  const holders = await resources.getByRole("link").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  t.equal(holders.length, 2, "each unit has its holder");
  const row = page.getByRole("table", { name: "Queue" }).getByRole("row", { name: /2 of 2 taken; 1st in line/ });
  await row.waitFor();
  await page.getByRole("link", { name: /db-warehouse, 2 of 2 taken/ }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/why=resource\+db-warehouse/);
  await page.waitForFunction(() => document.querySelectorAll("table[aria-label=Queue] tr[data-index]").length === 2);
  await page.locator("main").focus();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/runs/${scene.waiting.id}`);
  t.same(complaints, []);
  await context.close();
});

t.test("the engines tell what they run, and a run is cancelled out of the queue", async (t) => {
  const extra = await server.run("export_orders_to_erp");
  await server.until(extra, "AwaitingResource");
  const { page, context } = await open("/queue");
  const { engines } = (await (await fetch(`${server.url}/api/server`)).json()) as { engines: { pid: number }[] };
  const table = page.getByRole("table", { name: "Engines" });
  for (const { pid } of engines) await table.getByText(String(pid), { exact: true }).waitFor();
  await table.getByRole("row", { name: /sync_product_catalogue/ }).waitFor();
  await page.getByRole("button", { name: `Cancel\u2026 ${extra.name}` }).click();
  await page.getByRole("button", { name: "Cancel 1 run" }).click();
  await page.getByRole("button", { name: `Cancel\u2026 ${extra.name}` }).waitFor({ state: "detached" });
  await server.until(extra, "Cancelled");
  t.equal((await server.client.runs.get(extra.id)).state.type, "Cancelled");
  await context.close();
});

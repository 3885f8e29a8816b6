/** The runs page: filters, keys, and what happens live. */
import t from "tap";
import { launch, openTab } from "./browser.ts";
import { Served } from "./served.ts";

t.test("the runs page", async (t) => {
  const server = await Served.start({ runs: 300 });
  const browser = await launch();
  t.teardown(async () => {
    await browser.close();
    await server.close();
  });

  async function openRuns(query = "") {
    const tab = await openTab(browser);
    await tab.page.goto(`${server.url}/runs${query}`);
    await tab.page.locator("table.table tbody tr[data-index]").first().waitFor();
    return tab;
  }

  t.test("counts are those of the server, and few rows are drawn", async (t) => {
    const { page, context, complaints } = await openRuns();
    const { total, states } = (await (await fetch(`${server.url}/api/runs/counts`)).json()) as {
      total: number;
      states: Record<string, number>;
    };
    await page.getByRole("button", { name: `All ${total}` }).waitFor();
    await page.getByRole("button", { name: `Completed ${states["Completed"]}` }).waitFor();
    t.equal(await page.locator("table.table").getAttribute("aria-rowcount"), String(total + 1));
    t.ok((await page.locator("tr[data-index]").count()) < 60);
    t.same(complaints, []);
    await context.close();
  });

  t.test("filters are in the address, and keys work them", async (t) => {
    const { page, context } = await openRuns();
    await page.keyboard.press("f");
    await page.waitForURL(/states=Failed%2CCrashed/);
    await page.getByRole("button", { name: "Went wrong" }).waitFor();
    await page.waitForFunction(() =>
      [...document.querySelectorAll("tr[data-index] .state")].every((mark) => mark.textContent === "Failed"),
    );
    await page.keyboard.press("/");
    await page.keyboard.type("seed-29");
    await page.waitForURL(/q=seed-29/);
    t.equal(await page.evaluate(() => document.querySelectorAll("dialog").length), 0, "keys are off while typing");
    await page.reload();
    t.equal(await page.getByRole("combobox", { name: "Search runs" }).inputValue(), "seed-29");
    await context.close();
  });

  t.test("filters are saved as a view, found again, and forgotten with an undo", async (t) => {
    const { page, context, complaints } = await openRuns("?state=Failed&sort=duration_desc");
    await page.getByRole("button", { name: /Save view/ }).click();
    await page.getByRole("textbox", { name: /^Name/ }).fill("Slow failures");
    await page.keyboard.press("Enter");
    const views = page.getByRole("group", { name: "Saved views" });
    await views.getByRole("button", { name: "Slow failures", pressed: true }).waitFor();
    await views.getByRole("button", { name: "All" }).click();
    await page.waitForURL((url) => url.search === "");
    await page.reload();
    await page.locator("table.table tbody tr[data-index]").first().waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("slow fail");
    await page.keyboard.press("Enter");
    await page.waitForURL(
      (url) => url.searchParams.get("state") === "Failed" && url.searchParams.get("sort") === "duration_desc",
    );
    await page.getByRole("button", { name: "Forget view" }).click();
    await views.waitFor({ state: "detached" });
    await page.keyboard.press("u");
    await views.getByRole("button", { name: "Slow failures", pressed: true }).waitFor();
    t.same(complaints, []);
    await context.close();
  });

  t.test("rows are walked, opened and left by keys", async (t) => {
    const { page, context } = await openRuns();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.locator("tr.cursor[data-index='1']").waitFor();
    await page.keyboard.press("x");
    await page.getByText("1 selected").waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/runs\/\d+$/);
    await page.keyboard.press("Escape");
    await page.waitForURL(/\/runs$/);
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("stock");
    await page.getByRole("option", { name: /sync_stock_levels/ }).waitFor();
    t.equal(await page.getByRole("listbox").getByRole("option", { selected: true }).count(), 1);
    await context.close();
  });

  t.test("a new run enters at the top, and waits above while the reader is further down", async (t) => {
    const { page, context } = await openRuns();
    const first = await server.run("sync_stock_levels");
    await page
      .getByRole("link", { name: /sync_stock_levels/ })
      .first()
      .waitFor();
    await page.getByRole("row", { name: new RegExp(first.name) }).waitFor();
    await page.evaluate(() => window.scrollTo(0, 2_000));
    const seen = page.locator("tr[data-index='60']");
    await seen.waitFor();
    const place = (await seen.boundingBox())?.y;
    const name = await seen.textContent();
    await server.run("embed_support_tickets");
    await page.getByRole("button", { name: /1 new run above/ }).waitFor();
    t.equal((await seen.boundingBox())?.y, place, "nothing moved");
    t.equal(await seen.textContent(), name);
    await page.getByRole("button", { name: /1 new run above/ }).hover();
    await page.keyboard.press(".");
    await page.getByRole("button", { name: /new run above/ }).waitFor({ state: "detached" });
    await context.close();
  });

  t.test("deleting can be undone until its message ends", async (t) => {
    const run = await server.run("sync_stock_levels");
    await server.until(run, "Completed");
    const { page, context } = await openRuns();
    const row = page.getByRole("row", { name: new RegExp(run.name) });
    await row.getByRole("checkbox").click();
    await page.getByRole("button", { name: "Delete 1 run" }).click();
    await row.waitFor({ state: "detached" });
    await page.keyboard.press("u");
    await row.waitFor();
    t.equal((await server.client.runs.get(run.id)).id, run.id, "nothing was sent");
    await row.getByRole("checkbox").click();
    await page.getByRole("button", { name: "Delete 1 run" }).click();
    await page.getByRole("button", { name: "Close message" }).click();
    await page.waitForFunction(async (path) => (await fetch(path)).status === 404, `/api/runs/${run.id}`);
    await context.close();
  });
});

/** The runs page: filters, keyboard, and live updates. */
import type { Page } from "playwright-core";
import t from "tap";
import { browse } from "./browse.ts";

/** Holds the answers to these addresses until the returned function is called. */
async function hold(page: Page, addresses: string): Promise<() => void> {
  const gate = Promise.withResolvers<void>();
  await page.route(addresses, async (route) => {
    await gate.promise;
    await route.continue();
  });
  return gate.resolve;
}

t.test("the runs page", async (t) => {
  const { server, open } = await browse(t, { runs: 300 });

  async function openRuns(query = "") {
    const tab = await open(`/runs${query}`);
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

  t.test("runs are found by the value of a parameter, and new ones enter the list", async (t) => {
    const coast = await server.run("build_regional_summary", { day: "2026-01-01", region: "coast" });
    const alps = await server.run("build_regional_summary", { day: "2026-01-01", region: "alps" });
    const { page, context, complaints } = await openRuns();
    await page.getByRole("combobox", { name: "Search runs" }).fill("region=coast");
    await page.waitForURL((url) => url.searchParams.get("parameters") === "region=coast" && url.searchParams.get("q") === null);
    await page.waitForFunction(() => document.querySelectorAll("tr[data-index]").length === 1);
    await page.getByRole("row", { name: new RegExp(coast.name) }).waitFor();
    const inland = await server.run("build_regional_summary", { day: "2026-01-02", region: "inland" });
    const second = await server.run("build_regional_summary", { day: "2026-01-02", region: "coast" });
    await page.getByRole("row", { name: new RegExp(second.name) }).waitFor();
    t.equal(await page.locator("tr[data-index]").count(), 2);
    for (const run of [alps, inland, second, coast]) await server.client.runs.cancel(run.id);
    t.same(complaints, []);
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

  t.test("runs are listed by activity: the newest end is above, what is to come is last and in order of time", async (t) => {
    // Wait until runs of other tests have ended: running runs are listed above ended ones.
    for (const states of [["Scheduled"], ["Pending", "Running"]])
      for await (const run of server.client.runs.list({ states } as never)) await server.until(run, "Completed", "Failed");
    const flow = await server.flowId("sync_stock_levels");
    const schedule = await server.client.schedules.create(flow, { kind: "cron", cron: "0 3 * * *" });
    const done = await server.run("sync_stock_levels");
    await server.until(done, "Completed");
    const { page, context } = await openRuns();
    const hrefs = () =>
      page.locator("tr[data-index] a.row-link").evaluateAll((links) => links.map((link) => link.getAttribute("href") ?? ""));
    t.equal((await hrefs())[0], `/runs/${done.id}`, "runs of the look-ahead were created later");
    await page.goto(`${server.url}/runs?state=Scheduled`);
    await page.locator("tr[data-index='2']").waitFor();
    const coming = await server.client.runs.list({ schedule_id: schedule.id, sort: "scheduled_asc" }).page();
    t.same(
      await hrefs(),
      coming.items.map(({ id }) => `/runs/${id}`),
    );
    await page.goto(`${server.url}/runs?states=Failed,Crashed`);
    await page.locator("tr[data-index='9']").waitFor();
    const failed = await server.client.runs.list({ states: ["Failed", "Crashed"], limit: 500 } as never).page();
    const newest = failed.items.sort((a, b) => Number(b.end_time) - Number(a.end_time) || b.id - a.id);
    t.same(
      (await hrefs()).slice(0, 10),
      newest.slice(0, 10).map(({ id }) => `/runs/${id}`),
    );
    await page.goto(`${server.url}/flows/${flow}`);
    await page.locator(".flow-runs a").first().waitFor();
    t.equal(await page.locator(".flow-runs a").first().getAttribute("href"), `/runs/${done.id}`);
    await server.client.schedules.delete(schedule.id);
    await context.close();
  });

  t.test("a search finds parts of flows, tags, messages and parameters", async (t) => {
    const embedded = await server.run("embed_support_tickets");
    await server.until(embedded, "Failed");
    const summary = await server.run("build_regional_summary", { day: "2026-03-04", region: "far-south" });
    const { page, context, complaints } = await openRuns();
    const finds = async (words: string, id: number) => {
      await page.getByRole("combobox", { name: "Search runs" }).fill(words);
      await page.waitForURL((url) => url.searchParams.get("q") === words);
      await page.waitForFunction(() => document.querySelector("table.table")?.getAttribute("aria-busy") === "false");
      await page.locator(`a.row-link[href='/runs/${id}']`).waitFor();
    };
    await finds("embed", embedded.id);
    await finds("OUT of memory", embedded.id);
    await finds("far-south regional", summary.id);
    const tagged = (await server.client.runs.list({ tags: ["team-a"], limit: 1 } as never).page()).items[0];
    await finds(`team-a ${tagged?.name}`, tagged?.id ?? 0);
    t.equal(await page.locator("tr[data-index]").count(), 1, "every word must be found");
    await page.getByRole("combobox", { name: "Search runs" }).fill("nothing has this");
    await page.getByText("No run matches").waitFor();
    await server.client.runs.cancel(summary.id);
    t.same(complaints, []);
    await context.close();
  });

  t.test("Show brings the reader to the new runs, and Escape gives up the selection before it leaves the page", async (t) => {
    const { page, context } = await openRuns();
    await page.evaluate(() => window.scrollTo(0, 2_000));
    await page.locator("tr[data-index='60']").waitFor();
    const run = await server.run("embed_support_tickets");
    await page.getByRole("button", { name: /1 new run above/ }).click();
    await page.waitForFunction(() => window.scrollY === 0);
    await page.getByRole("row", { name: new RegExp(run.name) }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.getByText("1 selected").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("1 selected").waitFor({ state: "detached" });
    t.equal(new URL(page.url()).pathname, "/runs");
    await context.close();
  });

  t.test("Back takes back one filter, and comes to the place in the list that was left", async (t) => {
    const { page, context } = await openRuns();
    await page.getByRole("button", { name: /^Completed/ }).click();
    await page.waitForURL(/state=Completed/);
    await page.getByRole("combobox", { name: "Search runs" }).pressSequentially("seed-2");
    await page.waitForURL(/q=seed-2/);
    await page.goBack();
    await page.waitForURL((url) => url.search === "?state=Completed");
    await page.goBack();
    await page.waitForURL((url) => url.pathname === "/runs" && url.search === "");
    await page.locator("tr[data-index='60']").waitFor({ state: "detached" });
    // Scroll beyond the first page of the list, which is loaded in parts.
    await page.waitForFunction(() => {
      window.scrollTo(0, 5_000);
      return window.scrollY === 5_000;
    });
    const row = page.locator("tr[data-index='165']");
    const name = await row.textContent();
    await row.locator("a.row-link").click();
    await page.waitForURL(/\/runs\/\d+$/);
    await page.goBack();
    await page.waitForFunction(() => window.scrollY === 5_000);
    t.equal(await row.textContent(), name);
    await context.close();
  });

  t.test("a list loads on when its end was reached before its first page arrived", async (t) => {
    const { page, context } = await openRuns("?state=Completed");
    await page.getByRole("button", { name: /^All/ }).click();
    await page.locator("table[aria-busy='false']").waitFor();
    const release = await hold(page, "**/api/runs?*");
    await page.goBack();
    await page.locator("table[aria-busy='true']").waitFor();
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
    await page.locator("tr[data-index='99']").waitFor();
    release();
    await page.locator("tr[data-index='104']").waitFor();
    t.equal(await page.locator("table.table").getAttribute("aria-busy"), "false");
    await context.close();
  });

  t.test("the search field follows Back, also while it has the focus", async (t) => {
    const { page, context } = await openRuns();
    const field = page.getByRole("combobox", { name: "Search runs" });
    await field.pressSequentially("seed-2");
    await page.waitForURL(/q=seed-2/);
    await page.goBack();
    await page.waitForFunction(() => (document.activeElement as HTMLInputElement).value === "");
    await field.pressSequentially("seed-3");
    await page.waitForURL((url) => url.search === "?q=seed-3");
    t.equal(await field.inputValue(), "seed-3");
    await context.close();
  });

  t.test("Forward comes to the place in filtered events that was left by Back", async (t) => {
    const { page, context } = await open("/events");
    await page.getByRole("combobox", { name: "Name of events" }).fill("run.*");
    await page.waitForURL(/name=run/);
    await page.locator("table[aria-busy='false']").waitFor();
    // The place is kept when the window has stood still.
    await page.waitForFunction(() => {
      window.scrollTo(0, 1_500);
      return (history.state as { y: number }).y === 1_500;
    });
    await page.goBack();
    await page.waitForFunction(() => window.scrollY === 0);
    await page.locator("table[aria-busy='false']").waitFor();
    const release = await hold(page, "**/api/events?*");
    await page.goForward();
    await page.locator("table[aria-busy='true']").waitFor();
    release();
    await page.locator("table[aria-busy='false']").waitFor();
    t.equal(await page.evaluate(() => window.scrollY), 1_500);
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

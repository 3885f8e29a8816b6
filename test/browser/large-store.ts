/** The runs page on a store with many runs: requests and drawing do not depend on their number. */
import type { Browser } from "playwright-core";
import type { Test } from "tap";
import { openTab } from "./browser.ts";
import type { Served } from "./served.ts";

const PAGE = 100;
const ROWS_MAX = 100;

interface Request {
  path: string;
  limit: string | null;
}

export async function checkLargeStore(t: Test, browser: Browser, server: Served, runs: number): Promise<void> {
  const { page, context, complaints } = await openTab(browser);
  const lists: Request[] = [];
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname === "/api/runs") lists.push({ path: pathname, limit: searchParams.get("limit") });
  });
  const rows = page.locator("tr[data-index]");
  await page.goto(`${server.url}/runs`);
  await rows.first().waitFor();
  t.equal(lists.length, 1, "one page of runs before the first rows");
  t.equal(lists[0]?.limit, String(PAGE));
  await page.getByRole("button", { name: `All ${runs.toLocaleString("en-US")}`, exact: true }).waitFor();
  t.equal(await page.locator("table.table").getAttribute("aria-rowcount"), String(runs + 1));
  t.ok((await rows.count()) < ROWS_MAX);

  // Scroll down a few pages: one request each, and rows above are removed.
  for (let pages = 1; pages <= 4; pages += 1) {
    const from = await page.evaluate(() => document.documentElement.scrollHeight);
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
    await page.waitForFunction((height) => document.documentElement.scrollHeight > height, from);
  }
  t.ok(lists.length <= 6, `a request per page: ${lists.length}`);
  t.ok((await rows.count()) < ROWS_MAX);

  const before = lists.length;
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.getByRole("button", { name: /^Failed/ }).click();
  await page.waitForFunction(() => {
    const marks = [...document.querySelectorAll("table.table:not(.stale) tr[data-index] .state")];
    return marks.length > 0 && marks.every((mark) => mark.textContent === "Failed");
  });
  t.equal(lists.length, before + 1, "one request for a filter");

  await page.goto(`${server.url}/runs?sort=start_asc`);
  await rows.first().waitFor();
  const times = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("tr[data-index] td time")].map((time) => {
      const cell = time.closest("td");
      return { text: time.textContent, cut: cell !== null && cell.scrollWidth > cell.clientWidth };
    }),
  );
  t.match(times[0]?.text, /, /, "the oldest are of another day");
  t.same(
    times.filter(({ cut }) => cut),
    [],
    "their times stand whole in the column",
  );
  t.same(complaints, []);
  await context.close();
}

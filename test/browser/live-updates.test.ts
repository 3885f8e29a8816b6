/**
 * Hundreds of updates a second, here 2,000 in total: the page draws only visible rows, sends few requests, keeps no memory,
 * and ends with the last state. test/browser/figures.ts measures a minute of 200 a second, with the longest block of the
 * page's thread.
 */
import t from "tap";
import { browse } from "./browse.ts";
import { openTab } from "./browser.ts";
import { LiveUpdates } from "./live-updates.ts";

const UPDATES = 2_000;
const RUNS = 100;
const ROWS_MAX = 100;
const GROWTH_MAX = 30_000_000;

t.test("updates in a flood", async (t) => {
  const { server, browser } = await browse(t, { runs: 2_000, engines: false });
  const updates = await LiveUpdates.start(server, RUNS);
  const { page, context, complaints } = await openTab(browser);
  const requests: string[] = [];
  page.on("request", (request) => requests.push(new URL(request.url()).pathname));
  await page.goto(`${server.url}/runs`);
  await page.getByText("Live", { exact: true }).waitFor();
  await page.locator("tr[data-index]").first().waitFor();
  const devtools = await context.newCDPSession(page);
  const heap = async () => {
    await devtools.send("HeapProfiler.collectGarbage");
    return (await devtools.send("Runtime.getHeapUsage")).usedSize;
  };
  await updates.move(RUNS * 2);
  const before = await heap();
  const asked = requests.length;
  await updates.move(UPDATES);
  const shown = () =>
    page
      .locator("tr[data-index]")
      .evaluateAll((rows) =>
        rows.map((row) => [
          row.querySelector("a.row-link")?.getAttribute("href") ?? "",
          row.querySelector(".state")?.textContent ?? "",
        ]),
      );
  const { items } = (await (await fetch(`${server.url}/api/runs?limit=100`)).json()) as {
    items: { id: number; state: { name: string } }[];
  };
  const words = new Map(items.map(({ id, state }) => [`/runs/${id}`, state.name]));
  await page.waitForFunction(
    (wanted) =>
      [...document.querySelectorAll("tr[data-index]")].every(
        (row) => row.querySelector(".state")?.textContent === wanted[row.querySelector("a.row-link")?.getAttribute("href") ?? ""],
      ),
    Object.fromEntries(words),
  );
  const rows = await shown();
  t.ok(rows.length > 10 && rows.length < ROWS_MAX);
  t.equal(new Set(rows.map(([href]) => href)).size, rows.length, "no row twice");
  t.ok(requests.length - asked < UPDATES / 10, `requests do not follow the updates: ${requests.length - asked}`);
  t.ok((await heap()) - before < GROWTH_MAX, "nothing is kept of what has passed");
  t.same(complaints, []);
  await context.close();
});

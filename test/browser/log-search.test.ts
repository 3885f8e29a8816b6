/** The search through the logs of all runs: filters in the address, links to the log of a run, and steps further back. */
import t from "tap";
import { browse } from "./browse.ts";

const { server, open } = await browse(t);
const failed = await server.run("ingest_station_observations", { count: 6 });
await server.until(failed, "Failed");
const completed = await server.run("sync_stock_levels");
await server.until(completed, "Completed");

t.test("lines of all runs are found by text and level, and lead to the log of their run", async (t) => {
  const { page, context, complaints } = await open("/logs");
  await page
    .getByRole("row", { name: new RegExp(completed.name) })
    .first()
    .waitFor();
  await page.getByRole("combobox", { name: "Level" }).selectOption("ERROR");
  await page
    .getByRole("row", { name: new RegExp(completed.name) })
    .first()
    .waitFor({ state: "detached" });
  const row = page.getByRole("row", { name: new RegExp(failed.name) }).first();
  await page.getByText(/The whole log was searched: \d+ lines/).waitFor();
  t.match(page.url(), /level=ERROR/);
  await page.getByText("station 5 answered 503").first().waitFor();
  await row.getByRole("link").click();
  await page.getByRole("heading", { level: 1, name: failed.name }).waitFor();
  t.match(page.url(), new RegExp(`/runs/${failed.id}\\?tab=logs&level=ERROR`));
  await page.goBack();
  await page.getByRole("textbox", { name: "Search the logs" }).fill("no line says this");
  await page.getByText("No line matches").waitFor();
  await page.getByRole("link", { name: "All lines" }).click();
  await page
    .getByRole("row", { name: new RegExp(completed.name) })
    .first()
    .waitFor();
  t.same(complaints, []);
  await context.close();
});

t.test("a search that ended early goes further back on demand", async (t) => {
  const { page, context } = await open("/");
  const line = (id: number) => ({
    ...{ id, run_id: failed.id, level: 20, logger: "l", message: `line ${id}`, timestamp: 1_700_000_000_000_000 + id },
    ...{ run_name: "a-run", flow_name: "a-flow", project: "p" },
  });
  // Pages as of a log that is larger than what one of them searches: no line, then one, then the end.
  const answers: Readonly<Record<string, object>> = {
    "": { items: [], next_cursor: 50, lines_searched: 30_000, searched_until: 1_700_000_000_000_050 },
    "50": { items: [line(7)], next_cursor: 5, lines_searched: 20_000, searched_until: 1_700_000_000_000_007 },
    "5": { items: [], next_cursor: null, lines_searched: 4, searched_until: null },
  };
  await page.route("**/api/logs?*", (route) =>
    route.fulfill({ json: answers[new URL(route.request().url()).searchParams.get("after") ?? ""] ?? {} }),
  );
  await page.goto(`${server.url}/logs?q=line`);
  await page.getByText("No line matches so far").waitFor();
  await page.getByText(/^Searched 30,?\s?000 lines, back to/).waitFor();
  await page.getByRole("button", { name: "Search further back" }).click();
  await page.getByRole("row", { name: /line 7/ }).waitFor();
  await page.getByRole("button", { name: "Search further back" }).click();
  await page.getByText(/^The whole log was searched: 50,?\s?004 lines/).waitFor();
  t.equal(await page.getByRole("button", { name: "Search further back" }).count(), 0);
  await context.close();
});

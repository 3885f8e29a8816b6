/** The page takes from the stream what it shows, also when the page changes under load and the server restarts. */
import t from "tap";
import { browse } from "./browse.ts";
import { openTab } from "./browser.ts";
import { LiveUpdates } from "./live-updates.ts";

const RUNS = 20;
const UPDATES = 400;

t.test("pages ask for their messages, and miss none when they change", async (t) => {
  const { server, browser } = await browse(t, { runs: 200, engines: false });
  const updates = await LiveUpdates.start(server, RUNS);
  const watched = await server.run("sync_stock_levels");
  const { page, context, complaints } = await openTab(browser);
  const streams: URLSearchParams[] = [];
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname === "/api/stream") streams.push(searchParams);
  });
  const asked = async (run: string | null, kind: string) => {
    while (!(streams.at(-1)?.get("run_id") === run && streams.at(-1)?.get("kinds")?.split(",").includes(kind)))
      await page.waitForRequest((request) => request.url().includes("/api/stream"));
  };
  const move = async (name: string) => {
    const body = JSON.stringify({ type: "Running", name, message: null, force: true });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${server.url}/api/runs/${watched.id}/transition`, { method: "POST", headers, body });
    t.equal(answer.status, 200);
  };

  await page.goto(`${server.url}/runs/${watched.id}`);
  await page.getByText("Live", { exact: true }).waitFor();
  await asked(String(watched.id), "task_run.updated");
  await updates.move(UPDATES);
  await move("Running");
  await page.locator("main").getByText("Running", { exact: true }).first().waitFor();

  const flood = updates.move(UPDATES);
  await page.getByRole("link", { name: "Runs", exact: true }).first().click();
  await asked(null, "run.updated");
  await flood;
  const row = page.locator("tr[data-index]", { has: page.locator(`a[href="/runs/${watched.id}"]`) });
  await row.waitFor();
  await move("Retrying");
  await row.getByText("Retrying").waitFor();

  await page.goBack();
  await page.locator("main").getByText("Retrying", { exact: true }).first().waitFor();
  await move("Running");
  await page.locator("main").getByText("Running", { exact: true }).first().waitFor();
  await server.stop();
  await server.restart();
  await move("Retrying");
  await page.locator("main").getByText("Retrying", { exact: true }).first().waitFor();
  t.ok(
    streams.every((query) => query.get("kinds") !== null),
    "no stream brings everything",
  );
  t.same(complaints, []);
  await context.close();
});

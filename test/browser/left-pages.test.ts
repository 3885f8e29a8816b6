/** Pages that were left by loading others in the same tab: a browser keeps them for its back button. */
import t from "tap";
import { browse } from "./browse.ts";
import { launch, openTab } from "./browser.ts";

/** More than a browser's six connections for one server. */
const PATHS = ["/", "/runs", "/flows", "/events", "/rules", "/queue", "/schedules", "/artifacts", "/variables", "/runs"];

t.test("a page that was left keeps no connection, and is live again when the user comes back", async (t) => {
  const { server } = await browse(t, { engines: false });
  const browser = await launch(true);
  t.after(() => browser.close());
  const { page, context, complaints } = await openTab(browser);
  const readers = async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return Number(/^millrace_stream_readers (\d+)$/m.exec(text)?.[1]);
  };
  for (const path of PATHS) {
    await page.goto(server.url + path);
    await page.getByText("Live", { exact: true }).waitFor();
    while ((await readers()) !== 1);
  }
  await page.evaluate(() => Object.assign(globalThis, { isKept: true }));
  await page.goto(`${server.url}/settings`);
  await page.getByText("Live", { exact: true }).waitFor();
  const { id } = await server.run("sync_stock_levels");
  // Playwright's goBack waits for a load, and a page that was kept is not loaded.
  await page.evaluate(() => history.back());
  await page.waitForURL(`${server.url}/runs`, { waitUntil: "commit" });
  t.equal(await page.evaluate(() => Reflect.get(globalThis, "isKept")), true, "the browser has kept the page");
  await page.locator(`table[aria-label=Runs] a[href="/runs/${id}"]`).waitFor();
  while ((await readers()) !== 1);
  t.same(complaints, []);
  await context.close();
});

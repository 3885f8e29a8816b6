/** What users call things and publish is shown as text: nothing of it runs, and the layout holds. */
import t from "tap";
import { launch, openTab, type Tab } from "./browser.ts";
import { Served } from "./served.ts";

const server = await Served.start();
const browser = await launch();
t.teardown(async () => {
  await browser.close();
  await server.close();
});

const MARKUP = '"><img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1</script>';
const BACKWARDS = "\u202Etxt.exe";
const LONG = "x".repeat(10_000);
const flowId = await server.flowId("sync_stock_levels");

async function named(name: string, tags: string[] = []) {
  const response = await fetch(`${server.url}/api/flows/${flowId}/runs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name, tags }),
  });
  if (response.status !== 201) throw new Error(`a run called so was answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { id: number };
}

const marked = await named(MARKUP + BACKWARDS, [MARKUP, BACKWARDS]);
const long = await named(LONG, [LONG.slice(0, 200)]);
const hostile = await server.run("hostile");
await server.until(hostile, "Failed");
await server.client.variables.set({ name: "hostile", value: { [MARKUP]: BACKWARDS, long: LONG } });

const ADDRESSES = [
  "/",
  "/runs",
  `/runs?q=${encodeURIComponent(MARKUP)}`,
  `/runs/${marked.id}`,
  `/runs/${long.id}`,
  `/runs/${hostile.id}`,
  ...["logs", "tasks", "graph", "events", "artifacts", "input"].map((tab) => `/runs/${hostile.id}?tab=${tab}`),
  "/artifacts",
  ...[1, 2, 3, 4, 5].map((id) => `/artifacts?artifact=${id}`),
  "/variables",
];

async function settled({ page }: Tab): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await page.waitForLoadState("load");
  await page.locator(".panel > *, table.table, .empty, .strip").first().waitFor();
}

t.test("hostile names and artifacts", async (t) => {
  const tab = await openTab(browser);
  const { page, complaints } = tab;
  for (const address of ADDRESSES)
    t.test(address.slice(0, 60), async (t) => {
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.goto(server.url + address);
      await settled(tab);
      t.equal(await page.evaluate(() => (globalThis as { hit?: number }).hit), undefined, "nothing ran");
      const links = await page.locator("a[href]").evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).protocol));
      t.same(
        links.filter((protocol) => protocol !== "http:" && protocol !== "https:"),
        [],
      );
      t.equal(await page.locator("main script, main iframe, main img[onerror], main object").count(), 0);
      const width = () => page.evaluate(() => document.documentElement.scrollWidth);
      t.ok((await width()) <= 1440, "nothing is wider than the window");
      await page.setViewportSize({ width: 320, height: 640 });
      t.ok((await width()) <= 320, "nor than a narrow one");
      t.same(complaints, []);
    });
});

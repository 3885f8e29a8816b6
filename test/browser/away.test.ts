/**
 * Pages while their data is loading, when it cannot be read, while the server is down, and once it is back: all earlier and
 * new data is shown without a reload of the page.
 */
import type { Page } from "playwright-core";
import t from "tap";
import type { RuleBody } from "#sdk/client/index";
import { browse } from "./browse.ts";
import { openTab } from "./browser.ts";

interface Case {
  path: string;
  /** The request for the content. */
  api: string;
  /** Selector of the content. */
  content: string;
  /** Adds data on the server, and returns the selector that shows it. */
  add: (word: string) => Promise<{ shown: string }>;
  /** Selector of controls that write: disabled while the server is down. */
  writes?: string;
}

// Without engines, the queue keeps its runs during the test.
const { server, browser, open } = await browse(t, { engines: false });
const { client } = server;

const ROW = "tr[data-index]";
const CASES: readonly Case[] = [
  {
    path: "/runs",
    api: "/api/runs",
    content: `table[aria-label=Runs] ${ROW}`,
    add: async () => ({ shown: `${ROW} a[href="/runs/${(await server.run("embed_support_tickets")).id}"]` }),
  },
  {
    path: "/queue",
    api: "/api/queue",
    content: `table[aria-label=Queue] ${ROW}`,
    add: async () => ({ shown: `table[aria-label=Queue] a[href="/runs/${(await server.run("embed_support_tickets")).id}"]` }),
    writes: `table[aria-label=Queue] ${ROW} button`,
  },
  {
    path: "/rules",
    api: "/api/rules",
    content: `table[aria-label=Rules] ${ROW}`,
    add: async (word) => {
      const body: RuleBody = { name: `rule ${word}`, when: { events: ["run.failed"] }, do: [{ kind: "cancel_run" }] };
      return { shown: `${ROW} a[href="/rules/${(await client.rules.create(body)).id}"]` };
    },
    writes: "[role=switch]",
  },
  {
    path: "/events",
    api: "/api/events",
    content: `table[aria-label=Events] ${ROW}`,
    add: async (word) => {
      await client.events.emit({ name: `shop.${word}` });
      return { shown: `${ROW} :text('shop.${word}')` };
    },
  },
  {
    path: "/settings",
    api: "/api/settings",
    content: ".settings-fields [aria-label='Keep history for']",
    add: async (word) => {
      const answer = await fetch(`${server.url}/api/settings`, {
        method: "PATCH",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ resources: { [word]: 2 } }),
      });
      if (!answer.ok) throw new Error(`the change was answered ${answer.status}`);
      return { shown: `.settings-fields [aria-label='${word}']` };
    },
  },
  {
    path: "/artifacts",
    api: "/api/artifacts",
    content: `table[aria-label=Artifacts] ${ROW}`,
    add: async (word) => {
      await client.artifacts.create({ run_id: run.id, kind: "markdown", data: { title: word, text: "Published." } });
      return { shown: `${ROW} a[title='${word}']` };
    },
  },
  {
    path: "/variables",
    api: "/api/variables",
    content: `table[aria-label=Variables] ${ROW}`,
    add: async (word) => {
      await client.variables.set({ name: word, value: 1 });
      return { shown: `${ROW} a[title='${word}']` };
    },
    writes: `${ROW} button`,
  },
];

const run = await server.run("embed_support_tickets");
for (const { add } of CASES) await add("before");

/** Lets `answer` decide the answers to requests for the content. */
async function between(page: Page, api: string, answer: () => Promise<number | null>): Promise<void> {
  await page.route(
    ({ pathname }) => pathname === api,
    async (route) => {
      const status = await answer();
      if (status === null) await route.continue();
      else await route.fulfill({ status, contentType: "application/json", body: '{"error":"the test has none"}' });
    },
  );
}

for (const { path, api, content } of CASES)
  t.test(`${path} while its data is on its way, and when it cannot be read`, async (t) => {
    const { page, context, complaints } = await openTab(browser);
    const held = Promise.withResolvers<void>();
    let status: number | null = 400;
    await between(page, api, () => held.promise.then(() => status));
    await page.goto(server.url + path);
    await page.locator(".loading[aria-busy=true]").first().waitFor();
    t.equal(await page.locator(content).count(), 0);
    t.equal(
      await page
        .locator(".empty")
        .filter({ hasText: /No .* yet/ })
        .count(),
      0,
      "it does not say that there is nothing",
    );
    held.resolve();
    const alert = page.getByRole("alert").filter({ hasText: "could not be read. The server answered 400: the test has none." });
    await alert.waitFor();
    t.equal(await page.locator(".loading").count(), 0);
    status = null;
    await alert.getByRole("button", { name: "Try again" }).click();
    await page.locator(content).first().waitFor();
    await alert.waitFor({ state: "detached" });
    t.same(
      complaints.filter((text) => !text.includes("400")),
      [],
    );
    await context.close();
  });

t.test("a server that goes and comes back: every page notices, keeps what it has, and goes on", async (t) => {
  const tabs = await Promise.all(CASES.map(async (each) => ({ ...each, tab: await openTab(browser) })));
  for (const { path, content, writes, tab } of tabs) {
    await tab.page.goto(server.url + path);
    await tab.page.evaluate(() => Object.assign(globalThis, { loadedOnce: true }));
    await tab.page.locator(content).first().waitFor();
    await tab.page.getByText("Live", { exact: true }).waitFor();
    if (writes !== undefined) t.ok(await tab.page.locator(writes).first().isEnabled());
  }
  const late = await open("/events");
  await late.page.locator(ROW).first().waitFor();
  await server.stop();
  for (const { path, content, writes, tab } of tabs) {
    await tab.page.getByText(/^Offline for/).waitFor();
    t.ok((await tab.page.locator(content).count()) > 0, `${path} keeps what was read`);
    if (writes !== undefined)
      t.ok(await tab.page.locator(writes).first().isDisabled(), `${path} writes nothing while the server is away`);
  }
  const up = await late.page.locator(".rail small").textContent();
  await late.page.getByText(/^Offline for [3-9] s/).waitFor();
  t.equal(await late.page.locator(".rail small").textContent(), up, "the uptime stands still");
  // A page that was not opened before.
  await late.page.getByText(/^Offline for/).waitFor();
  await late.page.keyboard.press("g");
  await late.page.keyboard.press("v");
  await late.page.getByText("The page could not be loaded").waitFor();
  await server.restart();
  for (const { path, content, writes, add, tab } of tabs) {
    const { page } = tab;
    const { shown } = await add("afterwards");
    await page.getByText("Live", { exact: true }).waitFor();
    await page.locator(shown).first().waitFor();
    t.ok((await page.locator(content).count()) > 0);
    const links = await page.locator(`${ROW} a.row-link`).evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    t.equal(new Set(links).size, links.length, `${path} has no row twice`);
    await page.getByRole("alert").first().waitFor({ state: "detached" });
    if (writes !== undefined) await page.locator(`${writes}:enabled`).first().waitFor();
    t.equal(await page.evaluate(() => (globalThis as { loadedOnce?: boolean }).loadedOnce), true, `${path} was not reloaded`);
    // A server that is loading its state answers 503 for a moment.
    t.same(
      tab.complaints.filter((text) => !text.includes("503")),
      [],
    );
    await tab.context.close();
  }
  await late.page.locator(`table[aria-label=Variables] ${ROW}`).first().waitFor();
  t.equal(await late.page.getByText("The page could not be loaded").count(), 0);
});

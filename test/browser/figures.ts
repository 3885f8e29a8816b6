/**
 * Costs of the dashboard in a browser: bytes of its first load, time to its first rows on a large store, and the effect of a
 * minute with 200 updates a second on its thread and its memory. Requires Chromium and a built dashboard (`npm run
 * build:dashboard`).
 *
 *   node --conditions=millrace-src test/browser/figures.ts [RUNS] [SECONDS]
 */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { launch, openTab } from "./browser.ts";
import { LiveUpdates } from "./live-updates.ts";
import { Served } from "./served.ts";

const BUILT = join(import.meta.dirname, "../../dist/dashboard");
const RATE = 200;
/** Number of runs that change. */
const MOVED = 100;
const SLOT_MS = 50;
const TIMES = 7;
const KB = 1_000;
const MB = 1_000_000;

interface Watched {
  firstRows: number | null;
  blocks: number[];
}

/** Records when the first rows are in the document, and each block of the page's thread above 50 ms. */
function watch(page: Page): Promise<unknown> {
  return page.addInitScript(() => {
    const watched: Watched = { firstRows: null, blocks: [] };
    Object.assign(globalThis, { watched });
    const observer = new MutationObserver(() => {
      if (document.querySelector("tr[data-index]") === null) return;
      watched.firstRows = performance.now();
      observer.disconnect();
    });
    observer.observe(document, { childList: true, subtree: true });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) watched.blocks.push(duration);
    }).observe({ type: "longtask", buffered: true });
  });
}

function watched(page: Page): Promise<Watched> {
  return page.evaluate(() => (globalThis as unknown as { watched: Watched }).watched);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Compressed bytes of the script and style of a page's first load. */
async function firstLoad(browser: Browser, url: string): Promise<number> {
  const { page, context } = await openTab(browser);
  let bytes = 0;
  page.on("request", (request) => {
    const path = join(BUILT, new URL(request.url()).pathname);
    if (!/\.(?:js|css)$/.test(path)) return;
    bytes += statSync(existsSync(`${path}.gz`) ? `${path}.gz` : path).size;
  });
  await page.goto(url);
  await page.locator("main h1").waitFor();
  await page.waitForLoadState("load");
  await context.close();
  return bytes;
}

async function firstRows(browser: Browser, url: string): Promise<number[]> {
  const times: number[] = [];
  for (let time = 0; time < TIMES; time += 1) {
    const { page, context } = await openTab(browser);
    await watch(page);
    await page.goto(`${url}/runs`);
    await page.locator("tr[data-index]").first().waitFor();
    times.push((await watched(page)).firstRows ?? 0);
    await context.close();
  }
  return times;
}

async function flood(browser: Browser, server: Served, seconds: number) {
  const updates = await LiveUpdates.start(server, MOVED);
  const { page, context } = await openTab(browser);
  await watch(page);
  await page.goto(`${server.url}/runs`);
  await page.locator("tr[data-index]").first().waitFor();
  const devtools = await context.newCDPSession(page);
  const heap = async () => {
    await devtools.send("HeapProfiler.collectGarbage");
    return (await devtools.send("Runtime.getHeapUsage")).usedSize;
  };
  await updates.move(MOVED * 2);
  const before = await heap();
  const blocksBefore = (await watched(page)).blocks.length;
  const startedAt = performance.now();
  const slots = (seconds * 1_000) / SLOT_MS;
  for (let slot = 1; slot <= slots; slot += 1) {
    await updates.move((RATE * SLOT_MS) / 1_000);
    await sleep(Math.max(0, startedAt + slot * SLOT_MS - performance.now()));
  }
  const rate = (slots * RATE * SLOT_MS) / (performance.now() - startedAt);
  const { blocks } = await watched(page);
  const growth = (await heap()) - before;
  await context.close();
  return { rate, worst: Math.max(0, ...blocks.slice(blocksBefore)), growth };
}

const [runs = 1_000_000, seconds = 60] = process.argv.slice(2).map(Number);
const say = (text: string) => process.stdout.write(`${text}\n`);
const server = await Served.start({ runs, engines: false });
const browser = await launch();
try {
  for (const path of ["/", "/runs"])
    say(`first load of ${path}: ${((await firstLoad(browser, server.url + path)) / KB).toFixed(1)} kB of script and style, gzip`);
  const times = await firstRows(browser, server.url);
  say(
    `first rows with ${runs} runs: median ${median(times).toFixed(0)} ms, worst ${Math.max(...times).toFixed(0)} ms of ${TIMES}`,
  );
  const { rate, worst, growth } = await flood(browser, server, seconds);
  say(
    `${rate.toFixed(0)} updates/s for ${seconds} s: longest block of the page's thread ${worst.toFixed(0)} ms (0: none above 50),`,
  );
  say(`  memory after collection ${(growth / MB).toFixed(1)} MB more than before`);
} finally {
  await browser.close();
  await server.close();
}

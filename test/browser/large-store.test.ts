/**
 * The runs page on a store of 50,000 runs. The whole, a million, takes minutes to write: `npm run check:slow` does it
 * (test/browser/slow/large-store.test.ts). How long the first rows take is measured by test/browser/figures.ts.
 */
import t from "tap";
import { launch } from "./browser.ts";
import { checkLargeStore } from "./large-store.ts";
import { Served } from "./served.ts";

const RUNS = 50_000;

t.test("fifty thousand runs", async (t) => {
  const server = await Served.start({ runs: RUNS, engines: false });
  const browser = await launch();
  t.teardown(async () => {
    await browser.close();
    await server.close();
  });
  await checkLargeStore(t, browser, server, RUNS);
});

/**
 * The runs page on a store of 50,000 runs. A million takes minutes to write: `npm run check:slow` does that
 * (test/browser/slow/large-store.test.ts). test/browser/figures.ts measures the time to the first rows.
 */
import t from "tap";
import { browse } from "./browse.ts";
import { checkLargeStore } from "./large-store.ts";

const RUNS = 50_000;

t.test("fifty thousand runs", async (t) => {
  const { server, browser } = await browse(t, { runs: RUNS, engines: false });
  await checkLargeStore(t, browser, server, RUNS);
});

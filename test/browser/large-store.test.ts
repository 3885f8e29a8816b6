/**
 * The runs page on a store of 50,000 runs. The whole, a million, takes minutes to write: `npm run check:slow` does it
 * (test/browser/slow/large-store.test.ts). How long the first rows take is measured by test/browser/figures.ts.
 */
import t from "tap";
import { browse } from "./browse.ts";
import { checkLargeStore } from "./large-store.ts";

const RUNS = 50_000;

t.test("fifty thousand runs", async (t) => {
  const { server, browser } = await browse(t, { runs: RUNS, engines: false });
  await checkLargeStore(t, browser, server, RUNS);
});

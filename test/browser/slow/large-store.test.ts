/** The runs page on a store of a million runs. Requires about two gigabytes of disk and Chromium. */
import t from "tap";
import { browse } from "../browse.ts";
import { checkLargeStore } from "../large-store.ts";

const RUNS = 1_000_000;

t.setTimeout(3_600_000);

t.test("a million runs", async (t) => {
  const { server, browser } = await browse(t, { runs: RUNS, engines: false });
  await checkLargeStore(t, browser, server, RUNS);
});

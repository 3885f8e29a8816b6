/** The runs page on a store of a million runs. It needs about two gigabytes of disk and Chromium. */
import t from "tap";
import { launch } from "../browser.ts";
import { checkLargeStore } from "../large-store.ts";
import { Served } from "../served.ts";

const RUNS = 1_000_000;

t.setTimeout(3_600_000);

t.test("a million runs", async (t) => {
  const server = await Served.start({ runs: RUNS, engines: false });
  const browser = await launch();
  t.teardown(async () => {
    await browser.close();
    await server.close();
  });
  await checkLargeStore(t, browser, server, RUNS);
});

/** A sample of the growth table: small bounds are reached and reported, and the full home starts again with the same memory. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { measureGrowth } from "./growth.ts";

/** Ten times the usual; the margin is for other load on the machine. */
const START_SECONDS_MAX = 30;

t.test("what may grow stops at its bound, and the full home starts again with the same memory", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-growth-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const small = {
    heapMb: 128,
    unfinishedRuns: 2_500,
    externalEngines: 20,
    rules: 50,
    templates: 20,
    sessions: 50,
    strangeReports: 200,
    starts: 1,
  };
  const { rows, full, answers } = await measureGrowth(small, join(folder, "home"), () => undefined);
  for (const { what, reached, beyond, holds } of rows) t.ok(holds, `${what}: ${reached}; ${beyond}`);
  t.ok(rows.length >= 8, `${rows.length} bounds`);
  t.same(answers, [503, 200], "the full home still refuses runs, and is read");
  t.ok(full.seconds < START_SECONDS_MAX, `started in ${full.seconds} s`);
});

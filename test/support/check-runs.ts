/** What clients of a fault test were told, compared with what the server has stored. */
import type { Test } from "tap";
import type { FaultLoad } from "./fault-load.ts";
import { endsByRun, resourcesInUse, storedRunIds } from "./stored-runs.ts";

/** Compares the answers that clients got with the data of the last server. */
export async function checkRuns(t: Test, load: FaultLoad, url: string): Promise<void> {
  const stored = await storedRunIds(url);
  const lost = load.acknowledged.filter((id) => !stored.has(id));
  t.same(lost, [], `none of ${load.acknowledged.length} acknowledged runs is lost`);
  t.equal(new Set(load.acknowledged).size, load.acknowledged.length, "no id is given twice");
  const ends = await endsByRun(url);
  t.same(
    [...stored].filter((id) => ends.get(id) !== 1),
    [],
    "every run has ended, and once",
  );
  t.same(await resourcesInUse(url), [], "no lease is left");
  t.equal(load.silent, 0, "no request without an answer or an end");
}

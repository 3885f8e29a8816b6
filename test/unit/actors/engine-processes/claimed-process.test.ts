/**
 * Checks of processes that engines claim: the cost of a check grows with the process's open files, so checks must not pile
 * up.
 */
import t from "tap";
import { ClaimedProcesses } from "#actors/engine-processes/claimed-process";

const skip = process.platform === "linux" ? false : "needs /proc";

t.test("thousands of engines that claim one process wait for one look at it", { skip }, async (t) => {
  const claimed = new ClaimedProcesses();
  const looks = Array.from({ length: 5_000 }, (_, index) => claimed.isEngine(process.pid, `engine-${index}`));
  t.equal(new Set(looks).size, 1);
  t.equal(await looks[0], false, "it has no connection with itself");
  const later = claimed.isEngine(process.pid, "later");
  t.not(later, looks[0], "who comes afterwards gets a look of its own");
  t.equal(await later, false);
});

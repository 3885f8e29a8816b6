/** Durations counted by size. */
import t from "tap";
import { DURATION_BOUNDS_US, Durations } from "#runtime/durations";

t.test("a duration counts under the first bound that it does not exceed, and one beyond all bounds under none", async (t) => {
  const durations = new Durations();
  for (const us of [0, 100, 101, 3_600e6, 3_600e6 + 1]) durations.add(us);
  const { counts, sum_us } = durations.figures();
  t.equal(counts.length, DURATION_BOUNDS_US.length + 1);
  t.same([counts[0], counts[1], counts.at(-2), counts.at(-1)], [2, 1, 1, 1]);
  t.equal(sum_us, 2 * 3_600e6 + 202);
});

t.test("a negative duration counts as none", async (t) => {
  const durations = new Durations();
  durations.add(-5_000_000);
  t.match(durations.figures(), { sum_us: 0 });
  t.equal(durations.figures().counts[0], 1);
});

/** What code can ask about where its run comes from. */
import t from "tap";
import { originOf } from "#sdk/execution/run-origin";
import { flow, run } from "#sdk/index";
import { runFlow } from "#sdk/testing/index";

const known = flow("known", { tags: ["etl"], retries: 1, retryDelay: 0 }, async () => {
  if (run.attempt === 1) throw new Error("first");
  const { fireTime, schedule, createdBy, tags, attempt, lineage } = run;
  return { fireTime, schedule, createdBy, tags, attempt, lineage };
});

t.test("a test gives the fire, the schedule and the tags of a run", async (t) => {
  const fireTime = new Date("2026-03-29T04:00:00Z");
  const fired = await runFlow(known, {}, { fireTime, schedule: { key: "daily" }, tags: ["late"] });
  t.strictSame(fired.result, {
    ...{ fireTime: fireTime.toJSON(), schedule: { id: 1, key: "daily" }, createdBy: "schedule", tags: ["etl", "late"] },
    ...{ attempt: 2, lineage: null },
  });
  const plain = await runFlow(known);
  t.match(plain.result, { fireTime: null, schedule: null, createdBy: "client", tags: ["etl"] });
});

t.test("outside a run there is nothing to ask", async (t) => {
  t.throws(() => run.fireTime, /run\.fireTime is only available inside a run/);
  t.throws(() => run.tags, /run\.tags is only available inside a run/);
});

t.test("attempts count over crash reruns, and once for an attempt that goes on after it has left its engine", async (t) => {
  t.equal(originOf({ attempt: 3 }).attemptsBefore, 3);
  t.equal(originOf({ attempt: 3 }, 2).attemptsBefore, 2);
  t.equal(originOf({}).attemptsBefore, 0, "a server that sends no such field");
});

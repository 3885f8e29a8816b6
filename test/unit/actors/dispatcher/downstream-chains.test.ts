import t from "tap";
import { NAME_LENGTH_MAX } from "#protocol/limits";
import { operations } from "../../../support/decision-record.ts";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { createId, move } from "../../../support/dispatch-steps.ts";

const HOUR_US = 3_600_000_000;
const CHAIN_LENGTH = 4_000;

/** Flows that each run after the one before; `ring`: the first also runs after the last. */
function chain(kit: DispatchKit, length: number, ring = false): void {
  for (let index = 0; index < length; index += 1) {
    const upstream = index > 0 ? `flow-${index - 1}` : ring ? `flow-${length - 1}` : null;
    const options = upstream === null ? {} : { after: { flow: upstream } };
    move(kit, createId(kit, { flow: `flow-${index}`, options }), "Cancelled");
  }
}

t.test("a skipped fire of a chain of 4,000 flows skips all of them, and other schedules go on", async (t) => {
  const kit = new DispatchKit();
  chain(kit, CHAIN_LENGTH);
  move(kit, createId(kit, { flow: "other" }), "Cancelled");
  const other = kit.state.flowByName("shop", "other")?.id ?? 0;
  kit.send("CreateSchedule", { target: 1, body: { kind: "interval", interval: 3600, anchor: kit.nowUs } });
  kit.send("CreateSchedule", { target: other, body: { kind: "interval", interval: 3600, anchor: kit.nowUs } });
  kit.send("SkipFires", { target: 1, body: { next: 1 } });
  const fired = kit.pass(HOUR_US);
  const skipped = operations(fired, "insert_run").filter(({ state_name }) => state_name === "Skipped");
  t.equal(skipped.length, CHAIN_LENGTH - 1, "one run of each flow below the first");
  t.equal(new Set(skipped.map(({ flow_id }) => flow_id)).size, CHAIN_LENGTH - 1);
  const longest = Math.max(...skipped.map(({ name }) => String(name).length));
  t.ok(longest <= NAME_LENGTH_MAX, `the longest name has ${longest} characters`);
  t.ok(kit.state.queue.waiting > 0, "the run of the other schedule is in the queue");
});

t.test("flows that wait for each other in a ring skip each flow once", async (t) => {
  const kit = new DispatchKit();
  chain(kit, 5, true);
  kit.send("CreateSchedule", { target: 1, body: { kind: "interval", interval: 3600, anchor: kit.nowUs } });
  kit.send("SkipFires", { target: 1, body: { next: 1 } });
  const skipped = operations(kit.pass(HOUR_US), "insert_run").filter(({ state_name }) => state_name === "Skipped");
  t.same(
    skipped.map(({ flow_id }) => flow_id),
    [2, 3, 4, 5],
  );
});

t.test("branches of a skipped chain that meet again keep their flows apart", async (t) => {
  const kit = new DispatchKit();
  const after = (flow: string, upstream: readonly string[]): void => {
    const options = upstream.length === 0 ? {} : { after: { flows: upstream, flow: upstream[0] } };
    move(kit, createId(kit, { flow, options }), "Cancelled");
  };
  after("top", []);
  after("left", ["top"]);
  after("right", ["top"]);
  after("below-left", ["left"]);
  after("below-right", ["right"]);
  kit.send("CreateSchedule", { target: 1, body: { kind: "interval", interval: 3600, anchor: kit.nowUs } });
  kit.send("SkipFires", { target: 1, body: { next: 1 } });
  const skipped = operations(kit.pass(HOUR_US), "insert_run").filter(({ state_name }) => state_name === "Skipped");
  t.same(
    skipped.map(({ name }) => String(name).replace(/-after-top.*/, "")),
    ["left", "right", "below-left-after-left", "below-right-after-right"],
  );
});

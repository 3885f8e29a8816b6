/** Hand-outs that an engine does not acknowledge although its process lives. */
import t from "tap";
import { ACKNOWLEDGE_WAIT_US } from "#protocol/limits";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { createId, move, poll, report, workOf } from "../../../support/dispatch-steps.ts";

const OURS = { pid: 2000, owns_stop: true };
const SECOND_US = 1_000_000;

t.test(
  "a hand-out that its engine does not acknowledge for a minute goes to another, and the log of the run says so",
  async (t) => {
    const kit = new DispatchKit();
    const run = createId(kit);
    const lease = Number(workOf(poll(kit, "hung", OURS))?.["lease"]);
    kit.pass(ACKNOWLEDGE_WAIT_US - SECOND_US);
    t.equal(kit.run(run).engine_id, "hung");
    const taken = kit.pass(2 * SECOND_US);
    t.match(taken.logs, [
      { run_id: run, lines: [[null, 30, "millrace.run", Number, /engine hung .* said nothing of it for 60 s/]] },
    ]);
    t.same(taken.orders, [], "an engine of somebody else gets no signal");
    t.match(workOf(poll(kit, "next", { ...OURS, pid: 2001 })), { run_id: run });
    t.match(move(kit, run, "Pending", { lease }).reply, { status: 409 }, "the hung one starts nothing when it wakes up");
    t.equal(kit.run(run).engine_id, "next");
    t.equal(workOf(poll(kit, "hung", { ...OURS, wait_ms: 0 })), null);
  },
);

t.test("a heartbeat, a report or a move keeps the hand-out", async (t) => {
  for (const acknowledge of [
    (kit: DispatchKit, run: number, lease: number) => kit.send("Heartbeat", { body: { engine_id: "e1", run_id: run, lease } }),
    (kit: DispatchKit, run: number, lease: number) => report(kit, run, [], { lease }),
    (kit: DispatchKit, run: number, lease: number) => move(kit, run, "Pending", { lease }),
  ]) {
    const kit = new DispatchKit();
    const run = createId(kit);
    const lease = Number(workOf(poll(kit, "e1", OURS))?.["lease"]);
    acknowledge(kit, run, lease);
    kit.pass(3 * ACKNOWLEDGE_WAIT_US);
    t.equal(kit.run(run).engine_id, "e1");
    t.equal(kit.run(run).assigned, true);
  }
});

t.test("an engine that sends no lease keeps its run while its process lives; one warning is given", async (t) => {
  const kit = new DispatchKit();
  const run = createId(kit);
  poll(kit, "e1");
  const passed = kit.pass(3 * ACKNOWLEDGE_WAIT_US);
  t.equal(kit.run(run).assigned, true);
  t.match(passed.logs, [{ run_id: run, lines: [[null, 30, "millrace.run", Number, /it sends no lease/]] }]);
  t.equal(passed.logs.length, 1);
});

t.test("a hung engine of the pool is ended, and its place is for another", async (t) => {
  const kit = new DispatchKit({ settings: { spawnEngines: true, enginesMax: 1 } });
  kit.tell({ kind: "PoolReport", epoch: 1, engines: [], newest: null });
  const run = createId(kit, { module: "jobs.ts" });
  const [spawned] = [...kit.state.pool.keys()];
  t.ok(spawned);
  t.match(workOf(poll(kit, spawned ?? "", { ...OURS, module: "jobs.ts" })), { run_id: run });
  const { orders } = kit.pass(ACKNOWLEDGE_WAIT_US + SECOND_US);
  t.match(orders, [{ kind: "Signal", engine_id: spawned, pid: 2000, signal: "SIGKILL" }]);
  kit.tell({ kind: "EngineGone", engine_id: spawned ?? "", cause: null });
  t.match(kit.run(run), { assigned: false, state: { type: "Scheduled" } });
  kit.pass(SECOND_US);
  t.equal(kit.state.pool.size, 1, "the next one is started");
});

t.test("the machine's sleep, or a step of its clock, is no silence of an engine", async (t) => {
  const kit = new DispatchKit();
  const run = createId(kit);
  poll(kit, "e1", OURS);
  kit.nowUs += 10 * ACKNOWLEDGE_WAIT_US;
  kit.pass(SECOND_US);
  t.equal(kit.run(run).assigned, true);
});

/** Parked runs that have left memory: every look-up of the run, its lineage or its waits finds them again. */
import t, { type Test } from "tap";
import { loadLiveState } from "#actors/dispatch-group/load";
import { loadStore } from "#storage/load/load";
import { eventNames, operations } from "../../../support/decision-record.ts";
import { type DispatchKit, type Outcome, SETTINGS } from "../../../support/dispatch-kit.ts";
import { create, createId, poll, workOf } from "../../../support/dispatch-steps.ts";
import { arm, type HeldRun, moveOf, parkOf, send, startDurable, takeRun } from "../../../support/durable-steps.ts";
import type { Store } from "../../../support/storage-rows.ts";
import { storedKit } from "../../../support/stored-kit.ts";

const SECOND_US = 1_000_000;

/** A run of a flow of its own that sleeps for a minute; `more` are further waits that it is not parked on. */
function sleeping(kit: DispatchKit, wish = {}, more: ({ wait: number } & Record<string, unknown>)[] = []): HeldRun {
  const held = startDurable(kit, wish, `e${kit.turn}`);
  arm(kit, held, [{ wait: 1, kind: "sleep", delay: 60 }, ...more]);
  send(kit, held, [parkOf(kit, 3, [1])]);
  return held;
}

/** A run that waits for an event "paid". */
function awaiting(kit: DispatchKit): HeldRun {
  const held = startDurable(kit, {}, `e${kit.turn}`);
  const { reply } = arm(kit, held, [{ wait: 1, kind: "event", event: "paid", timeout: 60 }]);
  const [{ id = 0 } = {}] = (reply?.body["waits"] ?? []) as { id?: number }[];
  send(kit, held, [parkOf(kit, 3, [1])]);
  kit.tell({ kind: "LookedBack", core: kit.epoch, wait_id: id, event: null });
  return held;
}

function paid(kit: DispatchKit): Outcome {
  const event = { id: 900, name: "paid", occurred: kit.nowUs, payload: {}, run_id: null };
  const reactions = [{ kind: "event", event } as const];
  const { cursor } = kit.state.rules;
  return kit.tell({ kind: "React", core: kit.epoch, from: cursor, to: cursor + 1, reactions });
}

function checkAway(t: Test, kit: DispatchKit, ...runs: HeldRun[]): void {
  t.same([...kit.state.parked.awayIds()].sort(), runs.map(({ id }) => id).sort(), "the parked runs are in the store alone");
  for (const { id } of runs) t.notOk(kit.state.runs.has(id));
}

function reloaded({ database, statements }: Store) {
  return loadLiveState(loadStore(database), statements, { ...SETTINGS, parkedWaitsMax: 0 }, new Set());
}

t.test("a parked run leaves memory once its park is committed, and keeps its place in the room and in its flow", async (t) => {
  const { kit } = storedKit();
  kit.committed = kit.turn;
  const held = sleeping(kit, { options: { max_concurrent: 1, on_overlap: "skip" } });
  t.ok(kit.state.runs.has(held.id), "its park is not committed");
  kit.committed = null;
  kit.pass(2 * SECOND_US);
  checkAway(t, kit, held);
  t.equal(kit.state.room.taken, 1);
  t.match(create(kit, { options: { max_concurrent: 1, on_overlap: "skip" } }).reply?.body, { state: { name: "Skipped" } });
  t.strictSame(eventNames(kit.pass(60 * SECOND_US)), ["run.resumed"]);
  checkAway(t, kit);
  t.equal(kit.state.room.taken, 1);
  t.equal(takeRun(kit, "e2").id, held.id);
  t.equal(kit.state.flows.get(1)?.away, 0);
});

t.test("the newest parked runs stay in memory, up to a number of open waits", async (t) => {
  const { kit } = storedKit({ settings: { parkedWaitsMax: 4 } });
  const [first, second, third] = [sleeping(kit), sleeping(kit), sleeping(kit)];
  checkAway(t, kit, first);
  t.same([...kit.state.runs.keys()], [second.id, third.id]);
});

t.test("a wait beside the park that settles keeps the run in memory until that is committed", async (t) => {
  const { kit } = storedKit();
  const held = sleeping(kit, {}, [{ wait: 2, kind: "sleep", delay: 10 }]);
  checkAway(t, kit, held);
  kit.committed = kit.turn;
  t.equal(operations(kit.pass(10 * SECOND_US), "settle_wait").length, 1);
  t.ok(kit.state.runs.has(held.id));
  t.same(
    [...kit.state.durable.get(held.id).waits.values()].map(({ id }) => id),
    [1],
  );
  kit.committed = null;
  kit.pass(2 * SECOND_US);
  checkAway(t, kit, held);
  const woken = kit.pass(60 * SECOND_US);
  t.equal(operations(woken, "settle_wait").length, 1, "the other wait does not settle again");
  t.strictSame(eventNames(woken), ["run.resumed"]);
});

t.test("many sleeps that end together wake each run once, and those of others stay away", async (t) => {
  const { kit } = storedKit();
  const held = Array.from({ length: 250 }, () => sleeping(kit));
  kit.nowUs += SECOND_US;
  const later = sleeping(kit);
  const woken = kit.pass(59 * SECOND_US + 1);
  t.equal(eventNames(woken).filter((name) => name === "run.resumed").length, held.length);
  t.equal(operations(woken, "settle_wait").length, held.length);
  checkAway(t, kit, later);
});

t.test("a parked run in the store is woken, cancelled, explained and deleted at once", async (t) => {
  const { kit } = storedKit();
  const [woken, cancelled, deleted] = [sleeping(kit), sleeping(kit), sleeping(kit)];
  t.match(kit.send("ExplainRun", { target: woken.id }).reply?.body, { reason: { code: "waits" } });
  kit.pass(2 * SECOND_US);
  checkAway(t, kit, woken, cancelled, deleted);
  t.match(kit.send("WakeRun", { target: woken.id }).reply?.body, { state: { name: "Resuming" } });
  t.match(kit.send("CancelRun", { target: cancelled.id }).reply?.body, { state: { name: "Cancelled" } });
  t.equal(kit.send("DeleteRun", { target: deleted.id }).reply?.status, 204);
  kit.pass(2 * SECOND_US);
  checkAway(t, kit);
  t.equal(kit.state.room.taken, 1);
  t.same(eventNames(kit.pass(60 * SECOND_US)), [], "their sleeps wake nothing");
});

t.test("an event wakes runs in the store, once; the time of the wait then changes nothing", async (t) => {
  const { kit } = storedKit();
  const held = [awaiting(kit), awaiting(kit)];
  kit.pass(2 * SECOND_US);
  checkAway(t, kit, ...held);
  const settled = paid(kit);
  t.strictSame(eventNames(settled), ["run.resumed", "run.resumed"]);
  t.equal(operations(settled, "settle_wait").length, held.length);
  t.strictSame(eventNames(paid(kit)), []);
  t.strictSame(eventNames(kit.pass(120 * SECOND_US)), []);
});

t.test("the timeout of a wait for an event wakes a run in the store", async (t) => {
  const { kit } = storedKit();
  const held = awaiting(kit);
  kit.pass(2 * SECOND_US);
  checkAway(t, kit, held);
  t.match(operations(kit.pass(60 * SECOND_US), "settle_wait"), [{ outcome: '{"kind":"timed_out"}' }]);
  t.equal(kit.run(held.id).state.name, "Resuming");
  t.strictSame(eventNames(paid(kit)), []);
});

t.test("a caller in the store is woken by its child, and a child in the store is cancelled with its caller", async (t) => {
  const { kit } = storedKit();
  createId(kit, { flow: "part", options: { durable: true } });
  kit.send("CancelRun", { target: 1 });
  const callers = [startDurable(kit, {}, "caller-1"), startDurable(kit, {}, "caller-2")];
  for (const held of callers) {
    arm(kit, held, [{ wait: 1, kind: "child", flow: "part" }]);
    send(kit, held, [parkOf(kit, 3, [1])]);
  }
  const [ends, sleeps] = [takeRun(kit, "e1"), takeRun(kit, "e2")];
  arm(kit, sleeps, [{ wait: 1, kind: "sleep", delay: 60 }]);
  send(kit, sleeps, [parkOf(kit, 3, [1])]);
  checkAway(t, kit, ...callers, sleeps);
  t.strictSame(eventNames(send(kit, ends, [moveOf(kit, 3, "Completed")])), ["run.completed", "run.resumed"]);
  const [first, second] = callers;
  t.equal(kit.run(first?.id ?? 0).state.name, "Resuming");
  kit.send("CancelRun", { target: second?.id ?? 0 });
  t.equal(kit.run(sleeps.id).state.name, "Cancelled");
  t.strictSame(eventNames(kit.pass(120 * SECOND_US)), []);
});

t.test("a flow is deleted with its runs in the store, and a caller in the store learns that its child is gone", async (t) => {
  const { kit } = storedKit();
  createId(kit, { flow: "part", options: { durable: true } });
  kit.send("CancelRun", { target: 1 });
  const caller = startDurable(kit);
  arm(kit, caller, [{ wait: 1, kind: "child", flow: "part" }]);
  send(kit, caller, [parkOf(kit, 3, [1])]);
  const child = takeRun(kit, "e2");
  arm(kit, child, [{ wait: 1, kind: "sleep", delay: 60 }]);
  send(kit, child, [parkOf(kit, 3, [1])]);
  checkAway(t, kit, caller, child);
  const deleted = kit.send("DeleteFlow", { target: 1 });
  t.equal(deleted.reply?.status, 204);
  t.match(operations(deleted, "settle_wait").at(-1), { outcome: `{"kind":"gone","run_id":${child.id},"reason":"deleted"}` });
  t.equal(kit.run(caller.id).state.name, "Resuming");
  kit.pass(2 * SECOND_US);
  checkAway(t, kit);
  t.equal(kit.state.room.taken, 1);
});

t.test("a start leaves parked runs in the store, and keeps those that hold resources in memory", async (t) => {
  const { kit, store } = storedKit({ settings: { resourceTotals: new Map([["gpu", 1]]) } });
  const held = sleeping(kit);
  const event = awaiting(kit);
  const holder = startDurable(kit, { flow: "holder", options: { resources: { gpu: 1 } } }, "e9");
  arm(kit, holder, [{ wait: 1, kind: "sleep", delay: 60 }]);
  send(kit, holder, [parkOf(kit, 3, [1], { hold: true })]);
  checkAway(t, kit, held, event);
  t.same([...kit.state.runs.keys()], [holder.id]);
  const state = reloaded(store);
  t.same([...state.parked.awayIds()], [held.id, event.id]);
  t.same([...state.runs.keys()], [holder.id]);
  t.equal(state.room.taken, kit.state.room.taken);
  t.equal(state.nextIds.lease, kit.state.nextIds.lease);
  t.equal(state.flows.get(1)?.away, kit.state.flows.get(1)?.away);
  t.equal(state.deadlines.nextDueUs(0), kit.run(held.id).state.details["wake_at"]);
  t.ok(state.durable.awaits("paid"));
  const sleeper = state.findRun(held.id);
  t.match(sleeper, { state: { name: "Sleeping" }, durable: { away: true, park: { waits: [1] } } });
  t.same(
    [...state.durable.get(held.id).waits.values()].map(({ id }) => id),
    [1],
  );
  t.equal(state.flows.get(1)?.away, kit.state.flows.get(1)?.away, "a run that is recalled is not counted again");
});

t.test("a parked retry delay of a flow that is not durable wakes its run in the store", async (t) => {
  const { kit, store } = storedKit();
  createId(kit, {});
  const held = takeRun(kit, "e1");
  send(kit, held, [parkOf(kit, 3, [], { retry: { delay: 60, attempt: 1 } })]);
  checkAway(t, kit, held);
  t.equal(reloaded(store).deadlines.nextDueUs(0), kit.nowUs + 60 * SECOND_US);
  t.strictSame(eventNames(kit.pass(61 * SECOND_US)), ["run.resumed"]);
  t.equal(takeRun(kit, "e2").id, held.id);
});

t.test(
  "resources that a run kept over its park end with a hand-out that is taken back, and a start takes them for ended",
  async (t) => {
    const { kit, store } = storedKit({ settings: { resourceTotals: new Map([["gpu", 1]]) } });
    const holder = startDurable(kit, { flow: "holder", options: { resources: { gpu: 1 } } }, "e9");
    const { id } = holder;
    arm(kit, holder, [{ wait: 1, kind: "sleep", delay: 60 }]);
    send(kit, holder, [parkOf(kit, 3, [1], { hold: true })]);
    kit.pass(61 * SECOND_US);
    t.equal(kit.state.ledger.freeOf("gpu"), 0, "the woken run still keeps them");
    const undelivered = poll(kit, "e9", { owns_stop: true });
    t.match(workOf(undelivered), { run_id: id });
    kit.notice("Undelivered", undelivered.command);
    t.equal(kit.state.ledger.freeOf("gpu"), 1, "the run waits for an engine, without resources");
    t.equal(reloaded(store).runs.get(id)?.durable?.holds, false);
  },
);

import t from "tap";
import { LEASE_MANAGER } from "#actors/names";
import { operations } from "../../../support/decision-record.ts";
import { DispatchKit, type Outcome } from "../../../support/dispatch-kit.ts";
import { createId, move, poll, startRun, workOf } from "../../../support/dispatch-steps.ts";

function setup(totals: [string, number][] = [["db", 2]]) {
  const kit = new DispatchKit({ settings: { resourceTotals: new Map(totals) } });
  const run = createId(kit);
  return { kit, run };
}

function acquire(kit: DispatchKit, run_id: number, resources: Record<string, unknown>, wait_ms = 30_000): Outcome {
  return kit.send("AcquireLease", { body: { run_id, resources, wait_ms } });
}

function release(kit: DispatchKit, run_id: number, lease: unknown): Outcome {
  return kit.send("ReleaseLease", { body: { run_id, lease } });
}

function answerTo(outcome: Outcome, asked: Outcome): unknown {
  return outcome.replies.find(({ command }) => command === asked.command)?.body ?? null;
}

t.test("a lease is taken, stored and given back", async (t) => {
  const { kit, run } = setup();
  const taken = acquire(kit, run, { db: 1.5 });
  t.match(taken.reply, { status: 200, body: { lease: 1 } });
  t.match(operations(taken, "insert_lease"), [{ id: 1, run_id: run, kind: "explicit", resources: '{"db":1.5}' }]);
  t.equal(kit.state.ledger.usedOf("db"), 1.5);
  const back = release(kit, run, 1);
  t.match(back.reply, { status: 200, body: { ok: true } });
  t.match(operations(back, "delete_lease"), [{ id: 1 }]);
  t.equal(kit.state.ledger.usedOf("db"), 0);
});

t.test("all or nothing; the first blocking name in sorted order is told", async (t) => {
  const { kit, run } = setup([
    ["a", 1],
    ["b", 1],
    ["c", 1],
  ]);
  acquire(kit, run, { b: 1, c: 1 });
  t.same(acquire(kit, run, { c: 1, b: 1, a: 1 }, 0).reply?.body, { waiting: "b" });
  t.equal(kit.state.ledger.usedOf("a"), 0);
});

t.test("waiting acquires are served first in, first out; small ones do not overtake", async (t) => {
  const { kit, run } = setup();
  const held = acquire(kit, run, { db: 2 });
  const large = acquire(kit, run, { db: 2 });
  const small = acquire(kit, run, { db: 1 });
  t.same([large.reply, small.reply], [null, null]);
  const first = release(kit, run, held.reply?.body["lease"]);
  t.match(answerTo(first, large), { lease: 2 });
  t.equal(answerTo(first, small), null);
  const second = release(kit, run, 2);
  t.match(answerTo(second, small), { lease: 3 });
  t.same(acquire(kit, run, { other: 1 }).reply?.body, { lease: 4 }, "who wants something else does not wait behind them");
});

t.test("who comes later waits behind those who wait, also when there is room for it", async (t) => {
  const { kit, run } = setup();
  acquire(kit, run, { db: 1 });
  acquire(kit, run, { db: 2 });
  t.same(acquire(kit, run, { db: 1 }, 0).reply?.body, { waiting: "db" });
});

t.test("one that expires or is abandoned lets the next one pass", async (t) => {
  for (const kind of ["Expired", "Abandoned"] as const) {
    const { kit, run } = setup();
    acquire(kit, run, { db: 1 });
    const large = acquire(kit, run, { db: 2 });
    const small = acquire(kit, run, { db: 1 });
    const over = kit.notice(kind, large.command, LEASE_MANAGER);
    if (kind === "Expired") t.same(answerTo(over, large), { waiting: "db" });
    else t.equal(answerTo(over, large), null);
    t.match(answerTo(over, small), { lease: 2 }, kind);
  }
});

t.test("one that waits in several lines is served when it is the first in all of them", async (t) => {
  const { kit, run } = setup([
    ["a", 1],
    ["b", 1],
  ]);
  const a = acquire(kit, run, { a: 1 });
  const b = acquire(kit, run, { b: 1 });
  const both = acquire(kit, run, { a: 1, b: 1 });
  const behind = acquire(kit, run, { b: 1 });
  const freed = release(kit, run, b.reply?.body["lease"]);
  t.same([answerTo(freed, both), answerTo(freed, behind)], [null, null], "the one behind does not overtake");
  const expired = kit.notice("Expired", both.command, LEASE_MANAGER);
  t.same(answerTo(expired, both), { waiting: "a" });
  t.match(answerTo(expired, behind), { lease: Number });
  t.ok(a.reply);
});

t.test("thousands that wait for one resource and expire together cost each a few steps", async (t) => {
  const { kit, run } = setup();
  acquire(kit, run, { db: 2 });
  const waiting = Array.from({ length: 8_000 }, () => acquire(kit, run, { db: 1 }).command);
  const asked = countCalls(kit);
  for (const command of waiting) kit.notice("Expired", command, LEASE_MANAGER);
  t.ok(asked() < 5 * waiting.length, `the ledger was asked ${asked()} times`);
});

/** Counts the calls that ask the ledger for capacity. */
function countCalls(kit: DispatchKit): () => number {
  const { ledger } = kit.state;
  const blocking = ledger.blocking.bind(ledger);
  let calls = 0;
  ledger.blocking = (needs) => {
    calls += 1;
    return blocking(needs);
  };
  return () => calls;
}

t.test("amounts must be positive numbers, names must be there, the run must exist and live", async (t) => {
  const { kit, run } = setup();
  for (const resources of [{}, { db: 0 }, { db: -1 }, { db: "1" }, { db: null }]) {
    t.equal(acquire(kit, run, resources).reply?.status, 422, JSON.stringify(resources));
  }
  t.equal(acquire(kit, 99, { db: 1 }).reply?.status, 404);
  move(kit, run, "Completed");
  t.equal(acquire(kit, run, { db: 1 }).reply?.status, 409);
  t.same(kit.state.ledger.usedOf("db"), 0);
});

t.test("a release acts only for the lease of that run, and is always accepted", async (t) => {
  const { kit, run } = setup();
  const other = createId(kit);
  acquire(kit, run, { db: 1 });
  for (const [owner, lease] of [
    [other, 1],
    [run, 77],
    [99, 1],
  ]) {
    const outcome = release(kit, Number(owner), lease);
    t.match(outcome.reply, { status: 200, body: { ok: true } });
    t.equal(outcome.ops.length, 0);
  }
  t.equal(kit.state.ledger.usedOf("db"), 1);
});

t.test("what a hand-out took cannot be released by hand", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit, "e1", { options: { resources: { db: 1 } } });
  release(kit, run, kit.run(run).assignment_id);
  t.equal(kit.state.ledger.usedOf("db"), 1);
});

t.test("every lease of a run ends with it, when it pauses, and when it crashes", async (t) => {
  for (const [label, end] of [
    ["ends", (kit: DispatchKit, run: number) => move(kit, run, "Completed")],
    ["pauses", (kit: DispatchKit, run: number) => move(kit, run, "Paused")],
    ["is cancelled", (kit: DispatchKit, run: number) => move(kit, run, "Cancelled")],
    ["crashes", (kit: DispatchKit) => kit.tell({ kind: "EngineGone", engine_id: "e1", cause: null })],
    ["is deleted", (kit: DispatchKit, run: number) => kit.send("DeleteRun", { target: run })],
  ] as const) {
    const kit = new DispatchKit();
    const run = startRun(kit, "e1", { options: { resources: { gpu: 1 } } });
    acquire(kit, run, { db: 1 });
    const other = createId(kit, { flow: "other" });
    const waiting = acquire(kit, other, { db: 1 });
    const ended = end(kit, run);
    t.equal(operations(ended, "delete_lease").length, 2, label);
    t.match(answerTo(ended, waiting), { lease: /\d/ }, label);
    t.equal(kit.state.ledger.usedOf("gpu"), 0, label);
  }
});

t.test("a waiting acquire of a run that ended is refused when its turn comes", async (t) => {
  const { kit, run } = setup();
  const other = createId(kit);
  acquire(kit, run, { db: 2 });
  const waiting = acquire(kit, other, { db: 1 });
  move(kit, other, "Cancelled");
  const freed = release(kit, run, 1);
  t.equal(freed.replies.find(({ command }) => command === waiting.command)?.status, 409);
});

t.test("leases and hand-outs share the totals", async (t) => {
  const { kit, run } = setup([["db", 1]]);
  acquire(kit, run, { db: 1 });
  const needy = createId(kit, { flow: "needy", options: { resources: { db: 1 }, priority: 5 } });
  t.equal(workOf(poll(kit, "e1"))?.["run_id"], run);
  const parked = poll(kit, "e2");
  t.equal(workOf(release(kit, run, 1), parked.command)?.["run_id"], needy);
});

t.test("sums of fractions are exact enough to fill a total", async (t) => {
  const { kit, run } = setup([["db", 0.3]]);
  for (const amount of [0.1, 0.1, 0.1]) t.match(acquire(kit, run, { db: amount }, 0).reply?.body, { lease: /\d/ });
  t.match(acquire(kit, run, { db: 0.001 }, 0).reply?.body, { waiting: "db" });
});

t.test("an amount above the total holds up nobody else, and gets its turn when the total is raised", async (t) => {
  const { kit, run } = setup([["gpu", 1]]);
  const other = createId(kit);
  const tooMuch = acquire(kit, run, { gpu: 2 });
  t.equal(tooMuch.reply, null);
  const taken = acquire(kit, other, { gpu: 1 }, 0);
  t.match(taken.reply?.body, { lease: Number });
  const later = acquire(kit, other, { gpu: 1 });
  const freed = release(kit, other, taken.reply?.body["lease"]);
  t.match(answerTo(freed, later), { lease: Number });
  t.equal(answerTo(freed, tooMuch), null);
  release(kit, other, (answerTo(freed, later) as { lease: number }).lease);
  const raised = kit.send("PatchSettings", { body: { resources: { gpu: 2 } } });
  t.match(answerTo(raised, tooMuch), { lease: Number });
});

t.test("an acquire that asks is told why it waits; the run's explanation says so too", async (t) => {
  const { kit, run } = setup([["gpu", 1]]);
  const explained = (resources: Record<string, number>) =>
    kit.send("AcquireLease", { body: { run_id: run, resources, wait_ms: 0, explain: true } }).reply?.body;
  const text = "it needs 2 of gpu, but the total is 1";
  t.same(explained({ gpu: 2 }), { waiting: "gpu", text, unreachable: true });
  t.match(acquire(kit, run, { gpu: 0.5 }).reply?.body, { lease: Number });
  const nested = "it needs 1 of gpu; 0.5 of 1 are held, 0.5 by the run itself";
  t.same(explained({ gpu: 1 }), { waiting: "gpu", text: nested, unreachable: false });
  const other = startRun(kit, "e1", { flow: "other", module: "other.py" });
  acquire(kit, other, { gpu: 1 });
  const explanation = kit.send("ExplainRun", { target: other }).reply?.body;
  t.match(explanation, {
    reason: { code: "resource", object: "gpu", text: "its code waits for a lease: it needs 1 of gpu; 0.5 of 1 are held" },
    holders: [{ run_id: run, amount: 0.5, kind: "explicit" }],
  });
});

t.test("a total of nothing holds thousands of acquires at no cost for each, and they are served in order later", async (t) => {
  const { kit, run } = setup([["db", 0]]);
  const waiting = Array.from({ length: 2_000 }, () => acquire(kit, run, { db: 1 }));
  const asked = countCalls(kit);
  for (const { command } of waiting.slice(2)) kit.notice("Expired", command, LEASE_MANAGER);
  t.ok(asked() < 3 * waiting.length, `the ledger was asked ${asked()} times`);
  const raised = kit.send("PatchSettings", { body: { resources: { db: 1 } } });
  t.match(waiting[0] && answerTo(raised, waiting[0]), { lease: Number });
  t.equal(waiting[1] && answerTo(raised, waiting[1]), null);
  const behind = kit.send("AcquireLease", { body: { run_id: run, resources: { db: 1 }, wait_ms: 0, explain: true } });
  const text = "it needs 1 of db; 1 of 1 are held, 1 by the run itself, and other leases are waited for before it";
  t.same(behind.reply?.body, { waiting: "db", text, unreachable: false });
});

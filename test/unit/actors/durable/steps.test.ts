/** Steps of durable runs: what is stored, under which lease, and what a rerun learns. */
import t from "tap";
import { operations } from "../../../support/decision-record.ts";
import { createId, move, poll, report, startRun, workOf } from "../../../support/dispatch-steps.ts";
import { arm, identityOf, moveOf, parkOf, send, startDurable, stepOf, takeRun } from "../../../support/durable-steps.ts";
import { answerOf, begin, exchange, heldOf, moved } from "../../../support/exchange-steps.ts";
import { storedKit } from "../../../support/stored-kit.ts";

const SECOND_US = 1_000_000;

t.test("the result of a step is stored with the report, under the lineage of its run", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  t.match(held.item["durable"], { lineage_id: held.id, steps: 0, waits: 0, park_after_secs: 5 });
  t.equal(held.item["park_after_secs"], 5);
  const sent = send(kit, held, [stepOf(3, 7, '{"n":1}')]);
  t.match(sent.reply?.body, { applied: 1, last_seq: 3 });
  t.notOk("fenced" in (sent.reply?.body ?? {}));
  t.match(operations(sent, "insert_step"), [
    { lineage_id: held.id, identity: identityOf(7), name: "step-7", run_id: held.id, value: '{"n":1}', bytes: 7 },
  ]);
  t.equal(kit.send("CancelRun", { target: held.id }).reply?.body["lineage_id"], held.id);
});

t.test("the answer tells when the steps were stored, and which wait was settled last", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  const told = (events: unknown[]) => {
    const { applied_at, settled_wait } = send(kit, held, events).reply?.body ?? {};
    return [applied_at, settled_wait];
  };
  t.same(told([stepOf(3, 7)]), [kit.nowUs, 0]);
  const sleeps = [20, 10].map((delay, index) => ({ wait: index + 1, kind: "sleep", delay }));
  const armed = arm(kit, held, sleeps).reply?.body["waits"] as { id: number }[];
  const [longer, shorter] = armed.map(({ id }) => id);
  kit.pass(11 * SECOND_US);
  t.same(told([stepOf(4, 8)]), [kit.nowUs, shorter]);
  kit.pass(11 * SECOND_US);
  t.same(told([stepOf(5, 9)]), [kit.nowUs, longer]);
  t.same(told([stepOf(5, 9), stepOf(6, 10)]), [undefined, longer], "one was stored before");
});

t.test("a step under a lease that is over is not stored, and the answer says so", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  kit.tell({ kind: "EngineGone", engine_id: "e1", cause: "killed" });
  const late = send(kit, held, [stepOf(3, 7)]);
  t.strictSame(operations(late, "insert_step"), []);
  t.match(late.reply?.body, { applied: 0, fenced: true });
});

t.test("a repeated report whose step was refused is answered as the first time", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  send(kit, held, [stepOf(3, 7)]);
  kit.tell({ kind: "EngineGone", engine_id: "e1", cause: "killed" });
  t.match(send(kit, held, [stepOf(4, 8)]).reply?.body, { applied: 0, fenced: true });
  t.match(send(kit, held, [stepOf(4, 8)]).reply?.body, { applied: 0, fenced: true });
  t.notOk("fenced" in (send(kit, held, [stepOf(3, 7)]).reply?.body ?? {}), "a step that is stored");
});

t.test(
  "a repeated report of the end of a run is answered as the first time, with the step that came behind the end",
  async (t) => {
    const { kit } = storedKit();
    const held = startDurable(kit);
    const events = [stepOf(3, 7), moveOf(kit, 4, "Completed")];
    t.notOk("fenced" in (send(kit, held, events).reply?.body ?? {}));
    t.notOk("fenced" in (send(kit, held, events).reply?.body ?? {}));
    const behind = [...events, stepOf(5, 8)];
    t.match(send(kit, held, behind).reply?.body, { applied: 0, fenced: true });
    t.match(send(kit, held, behind).reply?.body, { applied: 0, fenced: true });
  },
);

t.test("a repeated report whose park was refused is answered as the first time, also after the next hand-out", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  arm(kit, held, [{ wait: 1, kind: "sleep", delay: 60 }]);
  send(kit, held, [parkOf(kit, 3, [1])]);
  const late = () => send(kit, held, [parkOf(kit, 4, [1])]).reply?.body;
  t.match(late(), { applied: 0, fenced: true });
  t.match(late(), { applied: 0, fenced: true });
  kit.pass(61_000_000);
  const next = takeRun(kit, "e1");
  t.match(late(), { applied: 0, fenced: true });
  t.match(send(kit, next, [stepOf(3, 8)]).reply?.body, { applied: 1, last_seq: 3 });
});

t.test("what a report holds behind a park does not count as reported by the engine that is given the run at once", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  arm(kit, held, [{ wait: 1, kind: "sleep", delay: 1 }]);
  kit.pass(2_000_000);
  const waiting = poll(kit, "e2", { owns_stop: true });
  const sent = send(kit, held, [parkOf(kit, 3, [1]), stepOf(4, 9)]);
  const item = workOf(sent, waiting.command);
  const next = { id: held.id, lease: Number(item?.["lease"]), engine: "e2", item: item ?? {} };
  t.match(send(kit, next, [moveOf(kit, 1, "Pending"), moveOf(kit, 2, "Running"), stepOf(3, 8)]).reply?.body, { applied: 3 });
});

t.test("a late report repeated after the next hand-out of its run applies nothing again and is fenced", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  arm(kit, held, [{ wait: 1, kind: "sleep", delay: 60 }]);
  send(kit, held, [parkOf(kit, 3, [1])]);
  const late = [{ kind: "custom", seq: 4, name: "noted" }, stepOf(5, 8)];
  t.match(send(kit, held, late).reply?.body, { applied: 1, last_seq: 5, fenced: true });
  t.match(send(kit, held, late).reply?.body, { applied: 0, last_seq: 5, fenced: true });
  kit.pass(61_000_000);
  const next = takeRun(kit, "e1");
  t.equal(next.id, held.id);
  t.match(send(kit, held, late).reply?.body, { applied: 0, skipped: 2, fenced: true });
  t.match(send(kit, next, [stepOf(3, 8)]).reply?.body, { applied: 1, last_seq: 3 }, "the next assignment counts for itself");
});

t.test("exchanges that repeat a refused step beside an accepted one answer each as the first time", async (t) => {
  const { kit } = storedKit();
  createId(kit, { options: { durable: true } });
  createId(kit, { options: { durable: true } });
  const held = heldOf(exchange(kit, "e1", 1));
  begin(kit, "e1", 2, held);
  const [over, going] = held;
  kit.send("CancelRun", { target: over?.run_id ?? 0, body: { force: true } });
  exchange(kit, "e1", 3, { held, slots: 0, reports: [{ ...over, events: moved(kit, 3, "Cancelled") }] });
  t.equal(kit.run(over?.run_id ?? 0).assigned, false);
  const reports = [
    { ...over, events: [stepOf(4, 7)] },
    { ...going, events: [stepOf(4, 8)] },
  ];
  const again = (number: number) =>
    answerOf(exchange(kit, "e1", number, { held: going === undefined ? [] : [going], slots: 0, hold: false, reports }))?.reports;
  for (const [number, applied] of [
    [4, 1],
    [5, 0],
  ] as const) {
    const answers = again(number) ?? [];
    t.match(answers[0], { run_id: over?.run_id, applied: 0, fenced: true });
    t.match(answers[1], { run_id: going?.run_id, applied });
    t.notOk("fenced" in (answers[1] ?? {}));
  }
});

t.test("a crash rerun keeps the lineage, and learns that there are steps", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  send(kit, held, [stepOf(3, 7)]);
  kit.tell({ kind: "EngineGone", engine_id: "e1", cause: "killed" });
  kit.pass(20_000_000);
  const again = takeRun(kit, "e2");
  t.not(again.id, held.id);
  t.match(again.item["durable"], { lineage_id: held.id, steps: 1, waits: 0 });
});

t.test("a run of a flow that is not durable stores no step and has no lineage", async (t) => {
  const { kit } = storedKit();
  createId(kit);
  const item = workOf(poll(kit, "e1", { owns_stop: true }));
  t.notOk("durable" in (item ?? {}));
  const lease = Number(item?.["lease"]);
  const sent = report(kit, 1, [stepOf(1, 7)], { lease });
  t.strictSame(operations(sent, "insert_step"), []);
  t.equal(sent.reply?.body["applied"], 0);
  const other = startRun(kit, "e9", { flow: "plain", module: "plain.py" });
  t.equal(kit.run(other).durable, null);
});

t.test("a retry goes on with the results that there are by then, not with those of a crash rerun that follows", async (t) => {
  const { kit } = storedKit({ settings: { crashRetriesDefault: 1 } });
  const held = startDurable(kit);
  const created = { kind: "task_run_created", name: "step", task_key: "step", dynamic_key: "step-0" };
  send(kit, held, [{ ...created, seq: 3, external_id: "01890a5d-ac96-774b-bcce-b302099a8057" }, stepOf(4, 7)]);
  kit.tell({ kind: "EngineGone", engine_id: "e1", cause: null });
  const retried = kit.send("RetryRun", { target: held.id, body: { from: "failure" } });
  t.match(operations(retried, "put_lineage"), [{ origin_id: held.id, before_task: 2, before_time: kit.nowUs + 1 }]);
});

t.test("a retry that ended and was moved back before it was committed still sees the steps of its origin", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  send(kit, held, [stepOf(3, 7), moveOf(kit, 4, "Failed")]);
  kit.committed = kit.turn;
  const retry = Number(kit.send("RetryRun", { target: held.id, body: {} }).reply?.body["id"]);
  kit.send("CancelRun", { target: retry });
  move(kit, retry, "Scheduled", { force: true });
  kit.committed = null;
  const taken = takeRun(kit, "e2");
  t.equal(taken.id, retry);
  t.match(taken.item["durable"], { lineage_id: retry, steps: 1 });
  t.match(kit.state.durable.get(retry).origin, { id: held.id });
});

t.test("looking at a lineage that has ended keeps nothing in memory; going on with it does", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  move(kit, held.id, "Failed");
  kit.pass(1_000_000);
  t.equal(kit.state.durable.has(held.id), false);
  t.equal(move(kit, held.id, "Running").reply?.status, 409);
  t.equal(kit.state.durable.has(held.id), false, "a refused move");
  t.equal(move(kit, held.id, "Scheduled", { force: true }).reply?.status, 200);
  t.equal(kit.state.durable.has(held.id), true, "a revived run");
});

/** Runs that wait without an engine: parks, what ends them, and the rules for parked runs. */
import t from "tap";
import { eventNames, operations } from "../../../support/decision-record.ts";
import type { DispatchKit } from "../../../support/dispatch-kit.ts";
import { create, createId, move, poll, workOf } from "../../../support/dispatch-steps.ts";
import { arm, type HeldRun, moveOf, parkOf, send, startDurable, stepOf, takeRun } from "../../../support/durable-steps.ts";
import { begin, exchange, heldOf } from "../../../support/exchange-steps.ts";
import { storedKit } from "../../../support/stored-kit.ts";

const SECOND_US = 1_000_000;

/** A run that sleeps for a minute. */
function sleeping(kit: DispatchKit, wish = {}, engine = "e1", park = {}): HeldRun {
  const held = startDurable(kit, wish, engine);
  arm(kit, held, [{ wait: 1, kind: "sleep", delay: 60 }]);
  const sent = send(kit, held, [parkOf(kit, 3, [1], park)]);
  t.match(sent.reply?.body, { run_state: { type: "Scheduled", name: "Sleeping" } });
  return held;
}

t.test("a sleeping run has no engine and no resources, and is queued once when its time comes", async (t) => {
  const { kit } = storedKit({ settings: { resourceTotals: new Map([["gpu", 1]]) } });
  const { id } = sleeping(kit, { options: { resources: { gpu: 1 } } });
  const run = kit.run(id);
  t.match(run.state, { type: "Scheduled", name: "Sleeping", details: { wake_at: kit.nowUs + 60 * SECOND_US } });
  t.equal(run.assigned, false);
  t.equal(kit.state.ledger.freeOf("gpu"), 1);
  t.equal(workOf(poll(kit, "e2", { wait_ms: 0 })), null, "it is not handed out while it sleeps");
  t.equal(kit.run(id).state.name, "Sleeping");
  t.notOk(eventNames(kit.pass(59 * SECOND_US)).includes("run.late"));
  const woken = kit.pass(2 * SECOND_US);
  t.strictSame(eventNames(woken), ["run.resumed"]);
  t.match(operations(woken, "settle_wait"), [{ outcome: '{"kind":"slept"}' }]);
  t.equal(takeRun(kit, "e1").id, id, "it goes on under its id");
});

t.test("a wait that settled before the park queues the run at once", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  arm(kit, held, [
    { wait: 1, kind: "sleep", delay: 1 },
    { wait: 2, kind: "sleep", delay: 60 },
  ]);
  kit.pass(2 * SECOND_US);
  const sent = send(kit, held, [parkOf(kit, 3, [1, 2])]);
  t.match(sent.reply?.body, { run_state: { type: "Scheduled", name: "Resuming" } });
  t.equal(takeRun(kit, "e2").id, held.id);
  t.strictSame(eventNames(kit.pass(60 * SECOND_US)), [], "the other wait settles without another wake");
});

t.test("a park that hands the run out at once keeps the numbers of the two assignments apart", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  arm(kit, held, [{ wait: 1, kind: "sleep", delay: 1 }]);
  kit.pass(2 * SECOND_US);
  const waiting = poll(kit, "e2", { owns_stop: true });
  t.equal(waiting.reply, null, "another engine waits for work");
  const sent = send(kit, held, [stepOf(3, 7), parkOf(kit, 4, [1])]);
  const item = workOf(sent, waiting.command);
  t.match(item, { run_id: held.id }, "and is given the run in the step of the park");
  const next = { id: held.id, lease: Number(item?.["lease"]), engine: "e2", item: item ?? {} };
  const began = send(kit, next, [moveOf(kit, 1, "Pending"), moveOf(kit, 2, "Running")]);
  t.match(began.reply?.body, { applied: 2, skipped: 0, run_state: { name: "Running" } });
  const late = send(kit, held, [stepOf(3, 7), parkOf(kit, 4, [1])]);
  t.match(late.reply?.body, { applied: 0, skipped: 2, fenced: true }, "the same report again changes nothing");
  t.equal(kit.run(held.id).state.name, "Running");
});

t.test("a run that has parked counts as active when it pauses without a park, until it ends", async (t) => {
  const { kit } = storedKit();
  const { id } = sleeping(kit);
  const { flow } = kit.run(id);
  kit.pass(61 * SECOND_US);
  const again = takeRun(kit, "e1");
  t.equal(flow.away, 0, "with an engine");
  send(kit, again, [moveOf(kit, 1, "Pending"), moveOf(kit, 2, "Running"), moveOf(kit, 3, "Paused")]);
  t.match([kit.run(id).state.name, flow.away], ["Paused", 1]);
  move(kit, id, "Scheduled", { force: true });
  t.match([kit.run(id).state.name, flow.away], ["Scheduled", 1]);
  move(kit, id, "Cancelled", { force: true });
  t.equal(flow.away, 0);
});

t.test("waits are armed all or none, once for each identity, and under the lease only", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  const first = arm(kit, held, [{ wait: 1, kind: "sleep", delay: 60 }]);
  t.match(first.reply, {
    status: 200,
    body: { waits: [{ id: 1, kind: "sleep", due: kit.nowUs + 60 * SECOND_US, outcome: null }] },
  });
  kit.pass(SECOND_US);
  const again = arm(kit, held, [{ wait: 1, kind: "sleep", delay: 60 }]);
  t.strictSame(again.reply?.body, first.reply?.body, "the request can be repeated");
  const wrong = arm(kit, held, [
    { wait: 2, kind: "sleep", delay: 60 },
    { wait: 3, kind: "child", flow: "nowhere" },
  ]);
  t.equal(wrong.reply?.status, 404);
  t.strictSame(operations(wrong, "put_wait"), []);
  t.equal(arm(kit, { ...held, lease: held.lease + 1 }, [{ wait: 4, kind: "sleep", delay: 60 }]).reply?.status, 409);
  t.equal(arm(kit, held, [{ wait: 5, kind: "sleep" }]).reply?.status, 422);
});

t.test("a park for an unknown wait, or for none, is refused with its report", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  t.equal(send(kit, held, [parkOf(kit, 3, [9])]).reply?.status, 422);
  t.equal(send(kit, held, [parkOf(kit, 3, [])]).reply?.status, 422);
  t.equal(kit.run(held.id).state.type, "Running");
});

t.test("a cancel ends a parked run at once, with its waits", async (t) => {
  const { kit } = storedKit();
  const { id } = sleeping(kit);
  const cancelled = kit.send("CancelRun", { target: id });
  t.match(cancelled.reply?.body, { state: { type: "Cancelled" } });
  t.match(operations(cancelled, "settle_wait"), [{ outcome: null }]);
  t.equal(operations(cancelled, "delete_park").length, 1);
  t.strictSame(eventNames(kit.pass(60 * SECOND_US)), [], "its sleep wakes nothing");
});

t.test("a parked run counts for skip, but takes no place of max_concurrent under enqueue", async (t) => {
  const { kit } = storedKit();
  const { id } = sleeping(kit, { options: { max_concurrent: 1, on_overlap: "skip" } });
  t.match(create(kit, { options: { durable: true, max_concurrent: 1, on_overlap: "skip" } }).reply?.body, {
    state: { name: "Skipped" },
  });
  kit.send("CancelRun", { target: id });
  t.equal(kit.run(id).flow.away, 0);
  const other = sleeping(kit, { flow: "line", options: { max_concurrent: 1 } }, "e1").id;
  t.ok(other);
});

t.test("hold keeps the resources over the park and the hand-out after it", async (t) => {
  const { kit } = storedKit({ settings: { resourceTotals: new Map([["gpu", 1]]) } });
  const { id } = sleeping(kit, { options: { resources: { gpu: 1 } } }, "e1", { hold: true });
  t.equal(kit.state.ledger.freeOf("gpu"), 0);
  kit.pass(61 * SECOND_US);
  const again = takeRun(kit, "e2");
  t.equal(again.id, id);
  send(kit, again, [moveOf(kit, 3, "Completed")]);
  t.equal(kit.state.ledger.freeOf("gpu"), 1);
});

t.test("a parked run gets no resources by a request that was waiting", async (t) => {
  const { kit } = storedKit({ settings: { resourceTotals: new Map([["gpu", 1]]) } });
  const other = startDurable(kit, { options: { resources: { gpu: 1 } } }, "e2");
  const held = startDurable(kit, { flow: "second" });
  arm(kit, held, [{ wait: 1, kind: "sleep", delay: 60 }]);
  const waiting = kit.send("AcquireLease", { body: { run_id: held.id, resources: { gpu: 1 }, wait_ms: 10_000 } });
  t.equal(waiting.reply, null);
  send(kit, held, [parkOf(kit, 3, [1])]);
  const freed = send(kit, other, [moveOf(kit, 3, "Completed")]);
  t.match(
    freed.replies.find(({ command }) => command === waiting.command),
    { status: 409 },
  );
  t.equal(kit.state.ledger.freeOf("gpu"), 1);
});

t.test("parked time does not count against the time limit, and the rest goes on", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit, { options: { timeout_seconds: 10 } });
  kit.pass(6 * SECOND_US);
  arm(kit, held, [{ wait: 1, kind: "sleep", delay: 60 }]);
  send(kit, held, [parkOf(kit, 3, [1])]);
  kit.pass(61 * SECOND_US);
  const again = takeRun(kit, "e2");
  kit.pass(3 * SECOND_US);
  t.equal(kit.run(again.id).state.type, "Running");
  kit.pass(40 * SECOND_US);
  t.equal(kit.run(again.id).state.name, "TimedOut");
});

t.test("a question pauses the run, and its answer settles the wait", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  arm(kit, held, [{ wait: 1, kind: "input", question: { prompt: "sure?" }, timeout: 3_600 }]);
  send(kit, held, [parkOf(kit, 3, [1])]);
  t.match(kit.run(held.id).state, { type: "Paused", name: "Paused", details: { prompt: "sure?" } });
  const answered = kit.send("ResumeRun", { target: held.id, body: { input: "yes" } });
  t.match(answered.reply?.body, { state: { name: "Resuming" } });
  t.match(operations(answered, "settle_wait"), [{ outcome: '{"kind":"answered","value":"yes"}' }]);
  t.equal(takeRun(kit, "e2").id, held.id);
});

t.test("a question that has a timeout settles without an answer", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  arm(kit, held, [{ wait: 1, kind: "input", question: { prompt: "sure?" }, timeout: 30 }]);
  send(kit, held, [parkOf(kit, 3, [1])]);
  const out = kit.pass(31 * SECOND_US);
  t.match(operations(out, "settle_wait"), [{ outcome: '{"kind":"timed_out"}' }]);
  t.equal(kit.run(held.id).state.name, "Resuming");
});

t.test("a retry delay parks a run that is not durable, and hands its progress back", async (t) => {
  const { kit } = storedKit();
  createId(kit);
  const held = takeRun(kit);
  const progress = { attempt: 1, times: [[1, 2]], ran_us: 0 };
  send(kit, held, [parkOf(kit, 3, [], { retry: { delay: 30, attempt: 0, message: "boom" }, progress })]);
  t.match(kit.run(held.id).state, { type: "Scheduled", name: "AwaitingRetry", message: "boom" });
  t.equal(kit.run(held.id).failure_count, 1);
  t.equal(workOf(poll(kit, "e2", { wait_ms: 0 })), null);
  kit.pass(31 * SECOND_US);
  const again = takeRun(kit, "e2");
  t.strictSame(again.item["progress"], progress);
  t.notOk("durable" in again.item);
});

t.test("a report after the end of a run that had waited for a retry applies once, also over a restart", async (t) => {
  const { kit } = storedKit();
  createId(kit);
  const first = takeRun(kit);
  send(kit, first, [parkOf(kit, 3, [], { retry: { delay: 30, attempt: 0, message: "boom" } })]);
  kit.pass(31 * SECOND_US);
  const held = takeRun(kit, "e2");
  send(kit, held, [moveOf(kit, 3, "Completed")]);
  const line = { run_id: held.id, level: 20, logger: "f", timestamp: kit.nowUs, message: "the last line" };
  const late = [{ kind: "logs", seq: 4, logs: [line] }];
  t.match(send(kit, held, late).reply?.body, { applied: 1, last_seq: 4 });
  // What a start loads of an ended run that is not durable.
  kit.run(held.id).durable = null;
  t.match(send(kit, held, late).reply?.body, { applied: 0, skipped: 1, last_seq: 4 });
});

t.test("a person ends a sleep or a retry delay early", async (t) => {
  const { kit } = storedKit();
  const { id } = sleeping(kit);
  t.match(kit.send("WakeRun", { target: id }).reply, { status: 200, body: { state: { name: "Resuming" } } });
  t.equal(kit.send("WakeRun", { target: id }).reply?.status, 409);
  t.equal(kit.send("WakeRun", { target: 99 }).reply?.status, 404);
});

t.test("a clock that is set back does not end a sleep early, nor lose it", async (t) => {
  const { kit } = storedKit();
  const { id } = sleeping(kit);
  kit.setClock(-3_600 * SECOND_US);
  kit.pass(61 * SECOND_US);
  t.equal(kit.run(id).state.name, "Sleeping");
  kit.pass(3_600 * SECOND_US);
  t.equal(kit.run(id).state.name, "Resuming");
});

t.test("a run that has started goes on after its park although the clock was set back before its scheduled time", async (t) => {
  const { kit } = storedKit();
  const caller = startDurable(kit);
  createId(kit, { flow: "part", options: { durable: true } });
  kit.send("CancelRun", { target: 2 });
  arm(kit, caller, [{ wait: 1, kind: "child", flow: "part", delay: 60 }]);
  kit.pass(61 * SECOND_US);
  const child = takeRun(kit, "e2");
  arm(kit, child, [{ wait: 1, kind: "sleep", delay: 1 }]);
  send(kit, child, [parkOf(kit, 3, [1])]);
  kit.setClock(-3_600 * SECOND_US);
  kit.send("WakeRun", { target: child.id });
  t.equal(takeRun(kit, "e2").id, child.id);
});

t.test("a park with a settled wait beside a question does not pause the run", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  arm(kit, held, [
    { wait: 1, kind: "sleep", delay: 1 },
    { wait: 2, kind: "input", question: { prompt: "Go on?" } },
  ]);
  kit.pass(2 * SECOND_US);
  const sent = send(kit, held, [parkOf(kit, 3, [1, 2])]);
  t.strictSame(eventNames(sent), ["run.resumed"], "no event says that the run is paused");
});

t.test("a forced move takes a run out of its park", async (t) => {
  const { kit } = storedKit();
  const { id } = sleeping(kit);
  move(kit, id, "Scheduled", { force: true });
  t.equal(kit.run(id).durable?.park, null);
  t.equal(takeRun(kit, "e2").id, id);
});

t.test("many sleeps that end at one instant are ended in several steps", async (t) => {
  const { kit } = storedKit();
  const runs = Array.from({ length: 250 }, (_, index) => sleeping(kit, {}, `e${index}`).id);
  const before = kit.turn;
  kit.pass(61 * SECOND_US);
  t.ok(runs.every((id) => kit.run(id).state.name === "Resuming"));
  t.ok(kit.turn - before > 1);
});

t.test("explain says what a parked run waits for, and until when", async (t) => {
  const { kit } = storedKit();
  const { id } = sleeping(kit);
  const until = new Date(kit.nowUs / 1_000 + 60_000).toISOString();
  t.match(kit.send("ExplainRun", { target: id }).reply?.body, {
    reason: { code: "waits", text: `it has left its engine and waits for sleep "wait-1" until ${until}` },
  });
});

t.test(
  "a run that comes back from a park is queued at once, although the clock was set back before its scheduled time",
  async (t) => {
    const { kit } = storedKit();
    const caller = startDurable(kit, {}, "e1");
    arm(kit, caller, [{ wait: 1, kind: "child", flow: "job", delay: 10 }]);
    kit.pass(11 * SECOND_US);
    const child = takeRun(kit, "e2");
    arm(kit, child, [{ wait: 1, kind: "sleep", delay: 60 }]);
    send(kit, child, [parkOf(kit, 3, [1])]);
    kit.setClock(-3_600 * SECOND_US);
    kit.send("WakeRun", { target: child.id });
    t.match(kit.run(child.id), { state: { name: "Resuming" }, place: "ready" });
    t.equal(takeRun(kit, "e2").id, child.id);
  },
);

t.test("the task runs from before a park stay task runs of the run: for a retry from one, and for its artifacts", async (t) => {
  // In memory, so that no read of the whole run hides what the park left in the store.
  const { kit } = storedKit({ settings: { parkedWaitsMax: 100 } });
  const held = startDurable(kit);
  const created = { kind: "task_run_created", name: "step", task_key: "step", dynamic_key: "step-0" };
  const [first, second] = ["01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058"];
  const ended = (seq: number, external_id: string, state: object) => {
    return { kind: "task_run_transition", seq, external_id, state: { timestamp: kit.nowUs, details: {}, ...state } };
  };
  const completed = { type: "Completed", name: "Completed" };
  send(kit, held, [{ ...created, seq: 3, external_id: first }, ended(4, first, completed), stepOf(5, 7)]);
  arm(kit, held, [{ wait: 1, kind: "sleep", delay: 60 }]);
  send(kit, held, [parkOf(kit, 6, [1])]);
  kit.pass(61 * SECOND_US);
  const again = takeRun(kit, "e1");
  const cached = { type: "Completed", name: "Cached", details: { step: { run_id: held.id, task_run: first } } };
  send(kit, again, [{ ...created, seq: 3, external_id: second }, ended(4, second, cached)]);
  const published = kit.send("CreateArtifact", {
    body: { run_id: held.id, task_run_id: 1, kind: "markdown", data: { text: "# here" } },
  });
  t.equal(published.reply?.status, 201);
  send(kit, again, [moveOf(kit, 5, "Completed")]);
  const retried = kit.send("RetryRun", { target: held.id, body: { from: "step-0" } });
  t.match(operations(retried, "put_lineage"), [{ origin_id: held.id, before_task: 1 }]);
});

t.test("after the start, a timeout waits until the engines that hold runs have reported, and ten seconds at most", async (t) => {
  const { kit } = storedKit();
  const paused = (number: number): HeldRun => {
    const held = startDurable(kit);
    arm(kit, held, [{ wait: number, kind: "input", question: { prompt: "sure?" }, timeout: 2 }]);
    send(kit, held, [parkOf(kit, 3, [number])]);
    return held;
  };
  const settled = (us: number) => operations(kit.pass(us), "settle_wait").map(({ outcome }) => outcome);
  const timedOut = '{"kind":"timed_out"}';
  createId(kit, { flow: "other" });
  const held = heldOf(exchange(kit, "busy", 1));
  begin(kit, "busy", 2, held);
  const restart = (): void => {
    kit.uptimeUs = 0;
    kit.reloadEngines();
  };
  paused(1);
  restart();
  t.same(settled(3 * SECOND_US), []);
  exchange(kit, "busy", 3, { held });
  t.same(settled(SECOND_US), [timedOut]);

  const answered = paused(2);
  restart();
  t.same(settled(9 * SECOND_US), []);
  kit.send("ResumeRun", { target: answered.id, body: { input: "yes" } });
  t.same(settled(2 * SECOND_US), [], "it was settled in the meantime");

  paused(3);
  restart();
  t.same(settled(9 * SECOND_US), []);
  t.same(settled(2 * SECOND_US), [timedOut]);
});

/** Cancel, timeout, pause and resume. */
import t from "tap";
import { eventNames, operations } from "../../../support/decision-record.ts";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { createId, move, poll, report, reportTasks, startRun, workOf } from "../../../support/dispatch-steps.ts";
import { begin, exchange, heldOf } from "../../../support/exchange-steps.ts";

const SECOND_US = 1_000_000;
const TIMED = { options: { timeout_seconds: 30 } };

function cancel(kit: DispatchKit, target: number) {
  return kit.send("CancelRun", { target });
}

function signals(orders: readonly { kind: string }[]): unknown[] {
  return orders.filter(({ kind }) => kind === "Signal").map((order) => ("signal" in order ? order.signal : null));
}

t.test("cancel: what no engine works on ends at once", async (t) => {
  const states: [string, (kit: DispatchKit) => number][] = [
    ["queued", (kit) => createId(kit)],
    [
      "handed out, not started",
      (kit) => {
        const id = createId(kit);
        poll(kit, "e1");
        return id;
      },
    ],
    [
      "Pending",
      (kit) => {
        const id = createId(kit);
        poll(kit, "e1");
        move(kit, id, "Pending");
        return id;
      },
    ],
    [
      "Running without an engine",
      (kit) => {
        const id = createId(kit);
        move(kit, id, "Running");
        return id;
      },
    ],
    [
      "Paused",
      (kit) => {
        const id = startRun(kit);
        move(kit, id, "Paused");
        return id;
      },
    ],
    [
      "sleeping between retries",
      (kit) => {
        const id = startRun(kit);
        move(kit, id, "Scheduled", { name: "AwaitingRetry" });
        return id;
      },
    ],
  ];
  for (const [label, make] of states) {
    const kit = new DispatchKit();
    const id = make(kit);
    const outcome = cancel(kit, id);
    t.match(outcome.reply, { status: 200, body: { state: { type: "Cancelled" } } }, label);
    t.same(eventNames(outcome), ["run.cancelled"], label);
    t.equal(kit.state.queue.waiting, 0, label);
    t.same(kit.state.ledger.leasesOf(id), [], label);
    t.same(signals(kit.pass(60 * SECOND_US).orders), [], label);
  }
});

t.test("cancel: an ended run stays as it is, an unknown one is not found", async (t) => {
  for (const type of ["Completed", "Failed", "Cancelled", "Crashed"]) {
    const kit = new DispatchKit();
    const id = createId(kit);
    move(kit, id, type);
    const outcome = cancel(kit, id);
    t.match(outcome.reply, { status: 200, body: { state: { type } } });
    t.equal(outcome.ops.length, 0);
  }
  t.equal(cancel(new DispatchKit(), 5).reply?.status, 404);
});

t.test("cancel: a running one is asked to stop and ends when its engine says so", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit);
  t.match(cancel(kit, id).reply, { status: 200, body: { state: { type: "Cancelling" } } });
  t.match(cancel(kit, id).reply, { status: 200, body: { state: { type: "Cancelling" } } }, "once more changes nothing");
  t.match(kit.send("Heartbeat", { body: { engine_id: "e1", run_id: id } }).reply?.body, { cancel: true, active: true });
  t.equal(report(kit, id, []).reply?.body["cancel"], true);
  t.match(move(kit, id, "Completed").reply, { status: 409, body: { reason: "cancelling" } });
  t.equal(move(kit, id, "Cancelled", { message: "cancelled" }).reply?.status, 200);
  t.equal(report(kit, id, []).reply?.body["cancel"], false);
  t.same(signals(kit.pass(60 * SECOND_US).orders), []);
});

t.test("cancel: an engine that does not end is told to after the grace and killed after twice of it", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "e1", {}, { pid: 55 });
  cancel(kit, id);
  t.same(signals(kit.pass(10 * SECOND_US - 1).orders), []);
  t.same(signals(kit.pass(1).orders), ["SIGTERM"]);
  t.equal(kit.run(id).state.type, "Cancelling");
  t.match(kit.pass(10 * SECOND_US).orders, [{ kind: "Signal", engine_id: "e1", pid: 55, signal: "SIGKILL" }]);
  t.match(kit.run(id).state, { type: "Cancelled", message: "killed" });
});

t.test("cancel: an engine that ends runs itself is only killed after twice the grace", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "e1", {}, { owns_stop: true });
  cancel(kit, id);
  t.same(signals(kit.pass(20 * SECOND_US - 1).orders), []);
  t.same(signals(kit.pass(1).orders), ["SIGKILL"]);
  t.equal(kit.run(id).state.type, "Cancelled");
});

t.test("cancel: an engine that exits first leaves a cancelled run, no rerun", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit);
  cancel(kit, id);
  const gone = kit.tell({ kind: "EngineGone", engine_id: "e1", cause: null });
  t.match(kit.run(id).state, { type: "Cancelled", message: "cancelled" });
  t.equal(operations(gone, "put_rerun").length, 0);
});

t.test("cancel: the stored answers go", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit);
  move(kit, id, "Paused");
  t.match(operations(cancel(kit, id), "delete_answers"), [{ run_id: id }]);
});

t.test("timeout: measured from Running; the run fails, its engine is ended and then killed", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "e1", TIMED);
  t.same(signals(kit.pass(30 * SECOND_US - 1).orders), []);
  const due = kit.pass(1);
  t.match(kit.run(id).state, { type: "Failed", name: "TimedOut", message: "timed out after 30 s" });
  t.same(eventNames(due), ["run.failed"]);
  t.same(signals(due.orders), ["SIGTERM"]);
  t.same(signals(kit.pass(3 * SECOND_US).orders), ["SIGKILL"]);
  t.same(signals(kit.pass(60 * SECOND_US).orders), []);
});

t.test("task runs of a run that is killed or timed out are cancelled with it", async (t) => {
  for (const [ended, wish] of [
    ["killed", {}],
    ["timed out after 30 s", TIMED],
  ] as const) {
    const kit = new DispatchKit();
    const id = startRun(kit, "e1", wish);
    const [task = ""] = reportTasks(kit, id, ["Running"]);
    if (ended === "killed") {
      cancel(kit, id);
      kit.pass(10 * SECOND_US);
      t.equal(kit.run(id).tasks.get(task)?.state?.type, "Running", "its engine may still end it");
    }
    const due = kit.pass(ended === "killed" ? 10 * SECOND_US : 30 * SECOND_US);
    t.match(kit.run(id).tasks.get(task)?.state, { type: "Cancelled", message: ended });
    t.equal(eventNames(due)[0], "task_run.cancelled");
  }
});

t.test("a run that a person takes from its engine has no task run under way", async (t) => {
  type Move = (kit: DispatchKit, id: number) => unknown;
  const forced =
    (type: string): Move =>
    (kit, id) =>
      move(kit, id, type, { force: true });
  const moves: [state: string, exchanges: boolean, before: Move | null, act: Move, ended: boolean][] = [
    ...["Completed", "Failed", "Cancelled", "Crashed", "Paused", "Scheduled"].map(
      (type) => [type, false, null, forced(type), true] as [string, boolean, null, Move, boolean],
    ),
    ["Running", false, null, forced("Running"), false],
    ["Cancelled", false, (kit, id) => move(kit, id, "Paused"), cancel, true],
    ["Paused", true, null, (kit, id) => move(kit, id, "Paused"), true],
    ["Completed", true, null, (kit, id) => move(kit, id, "Completed"), true],
    // The engine may have moved the run itself.
    ["Paused", false, null, (kit, id) => move(kit, id, "Paused"), false],
    ["Completed", false, null, (kit, id) => move(kit, id, "Completed"), false],
  ];
  for (const [state, exchanges, before, act, ended] of moves) {
    const kit = new DispatchKit();
    const id = startRun(kit, "e1");
    const engine = kit.state.engines.get("e1");
    if (engine !== undefined) engine.exchanges = exchanges;
    const [under = "", done = "", begun = ""] = reportTasks(kit, id, ["Running", "Completed", null]);
    before?.(kit, id);
    const acted = act(kit, id) as ReturnType<typeof cancel>;
    const stateOf = (task: string) => kit.run(id).tasks.get(task)?.state ?? null;
    const what = `${state}, ${ended}`;
    t.match(stateOf(under), ended ? { type: "Cancelled", message: `the run was moved to ${state}` } : { type: "Running" }, what);
    t.equal(stateOf(begun)?.type, ended ? "Cancelled" : undefined, what);
    t.equal(stateOf(done)?.type, "Completed", what);
    t.equal(eventNames(acted).filter((name) => name === "task_run.cancelled").length, ended ? 2 : 0, what);
  }
});

t.test("what the engine reports of the tasks of a run that was taken from it changes none", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "e1");
  const lease = kit.run(id).assignment_id;
  const [task = ""] = reportTasks(kit, id, ["Running"]);
  move(kit, id, "Crashed", { force: true });
  const about = { name: "t", task_key: "t" };
  const state = { type: "Completed", name: "Completed", timestamp: kit.nowUs };
  const late = report(
    kit,
    id,
    [
      { kind: "task_run_transition", seq: 3, external_id: task, state, force: true },
      { kind: "task_run_created", seq: 4, external_id: "22222222-2222-7222-8222-222222222222", dynamic_key: "t-1", ...about },
      { kind: "custom", seq: 5, name: "late" },
    ],
    { lease },
  );
  t.match(late.reply, { status: 200, body: { applied: 1, skipped: 2, last_seq: 5 } });
  t.same(
    [...kit.run(id).tasks.values()].map(({ state }) => state?.type),
    ["Cancelled"],
  );
  t.same(eventNames(late), ["late"]);
});

t.test("timeout: an engine that went on to another run is left alone", async (t) => {
  const kit = new DispatchKit();
  startRun(kit, "e1", TIMED);
  kit.pass(30 * SECOND_US);
  kit.pass(SECOND_US);
  const next = startRun(kit, "e1", { flow: "next" });
  t.same(signals(kit.pass(10 * SECOND_US).orders), []);
  t.equal(kit.run(next).state.type, "Running");
});

t.test("timeout: an engine that ends runs itself has twice the grace", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "e1", TIMED, { owns_stop: true });
  t.same(signals(kit.pass(50 * SECOND_US - 1).orders), []);
  t.equal(kit.run(id).state.type, "Running");
  t.same(signals(kit.pass(1).orders), ["SIGKILL"]);
  t.match(kit.run(id).state, { name: "TimedOut" });
});

t.test("timeout: the only other run of an engine keeps its process", async (t) => {
  const kit = new DispatchKit();
  const [timed, other] = [createId(kit, TIMED), createId(kit, { flow: "other" })];
  const held = heldOf(exchange(kit, "e1", 1));
  t.match(held, [{ run_id: timed }, { run_id: other }]);
  begin(kit, "e1", 2, held);
  t.same(signals(kit.pass(60 * SECOND_US).orders), []);
  t.equal(kit.run(timed).state.name, "TimedOut");
  t.match(kit.run(other), { assigned: true, state: { type: "Running" } });
});

t.test("timeout: an engine that ended the run itself keeps its next one", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "e1", TIMED, { owns_stop: true });
  kit.pass(31 * SECOND_US);
  move(kit, id, "Failed", { name: "TimedOut" });
  const next = startRun(kit, "e1", { flow: "next" }, { owns_stop: true });
  t.same(signals(kit.pass(60 * SECOND_US).orders), []);
  t.equal(kit.run(next).state.type, "Running");
});

t.test("timeout: a second start has its full time, also when the first one was overdue", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "e1", TIMED, { owns_stop: true });
  kit.pass(31 * SECOND_US);
  move(kit, id, "Scheduled", { name: "AwaitingRetry" });
  kit.pass(10 * SECOND_US);
  move(kit, id, "Running", { name: "Retrying" });
  kit.pass(20 * SECOND_US);
  t.equal(kit.run(id).state.type, "Running");
  kit.pass(31 * SECOND_US);
  t.equal(kit.run(id).state.name, "TimedOut");
});

t.test("timeout: a run that ended or paused in time is not touched", async (t) => {
  for (const type of ["Completed", "Paused"]) {
    const kit = new DispatchKit();
    const id = startRun(kit, "e1", TIMED);
    move(kit, id, type);
    kit.pass(120 * SECOND_US);
    t.equal(kit.run(id).state.type, type);
  }
});

t.test("pause gives everything back, resume queues the run with its answer", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "e1", { options: { resources: { db: 1 } } });
  const details = { prompt: "which?", schema: null };
  const paused = move(kit, id, "Paused", { message: "which?", details });
  t.match(paused.reply, { status: 200, body: { state: { type: "Paused", message: "which?", details } } });
  t.same(kit.state.ledger.leasesOf(id), []);
  t.equal(workOf(poll(kit, "e1", { wait_ms: 0 })), null, "its engine is free");
  const resumed = kit.send("ResumeRun", { target: id, body: { input: { b: 1, a: null } } });
  t.match(resumed.reply, { status: 200, body: { state: { type: "Scheduled", name: "Resuming" }, attempt: 0, engine_id: "e1" } });
  t.match(operations(resumed, "insert_answer"), [{ run_id: id, ordinal: 1, value: '{"a":null,"b":1}' }]);
  t.same(eventNames(resumed), ["run.resumed"]);
  t.equal(workOf(poll(kit, "e2"))?.["run_id"], id);
  move(kit, id, "Pending");
  move(kit, id, "Running");
  move(kit, id, "Paused");
  const again = kit.send("ResumeRun", { target: id, body: { input: null } });
  t.match(operations(again, "insert_answer"), [{ ordinal: 2, value: "null" }], "null is an answer, and each one is kept");
});

t.test("an answer that does not fit the schema of its question is refused by field, and the run stays paused", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "e1");
  const schema = { type: "object", properties: { send: { type: "boolean" } }, required: ["send"] };
  move(kit, id, "Paused", { message: "send?", details: { prompt: "send?", schema } });
  const refused = kit.send("ResumeRun", { target: id, body: { input: {} } });
  t.match(refused.reply, { status: 422, body: { error: 'answer "send" is required' } });
  t.same(operations(refused, "insert_answer"), []);
  t.equal(kit.run(id).state.type, "Paused");
  t.equal(kit.send("ResumeRun", { target: id, body: { input: { send: true } } }).reply?.status, 200);
});

t.test("an answer to an engine that converts answers by itself is refused only where it has the wrong form", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "e1");
  const details = { prompt: "who?", schema: { type: "string" } };
  move(kit, id, "Paused", { details: { ...details, answer_checked: true } });
  const refused = kit.send("ResumeRun", { target: id, body: { input: 1 } });
  t.match(refused.reply, { status: 422, body: { error: "answer: expected string" } });
  move(kit, id, "Paused", { details, force: true });
  t.equal(kit.send("ResumeRun", { target: id, body: { input: 1 } }).reply?.status, 200);
});

t.test("resume: refused unless paused, not found when unknown", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit);
  const refused = kit.send("ResumeRun", { target: id, body: { input: 1 } });
  t.match(refused.reply, { status: 409, body: { error: "run is Running, not Paused", current: { type: "Running" } } });
  t.notOk("reason" in (refused.reply?.body ?? {}));
  t.equal(kit.send("ResumeRun", { target: 77, body: { input: 1 } }).reply?.status, 404);
});

t.test("a run that is forced back to Scheduled is queued", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit);
  move(kit, id, "Completed");
  t.equal(workOf(poll(kit, "e2", { wait_ms: 0 })), null);
  move(kit, id, "Scheduled", { force: true });
  t.equal(workOf(poll(kit, "e2"))?.["run_id"], id);
});

t.test("a transition whose answer was lost may be repeated once, by its lease as often as needed", async (t) => {
  const kit = new DispatchKit();
  const id = createId(kit);
  poll(kit, "e1");
  const sent = move(kit, id, "Pending");
  t.equal(move(kit, id, "Pending").reply?.body["reason"], "duplicate", "an answer that arrived is not repeated");
  kit.notice("Undelivered", sent.command);
  const again = move(kit, id, "Pending");
  t.equal(again.reply?.status, 200);
  t.equal(again.ops.length, 0, "nothing changes");
  t.equal(move(kit, id, "Pending").reply?.status, 409);
  const leased = { lease: kit.run(id).assignment_id, timestamp: kit.nowUs + 5 };
  for (let times = 0; times < 3; times += 1) t.equal(move(kit, id, "Running", leased).reply?.status, 200);
  t.equal(kit.run(id).state.timestamp, kit.nowUs + 5, "the time is the engine's");
  const { reply } = move(kit, id, "Completed", { lease: 999 });
  t.match(
    reply,
    { status: 409, body: { reason: "stale-lease", current: { type: "Running" } } },
    "a lease that is over moves nothing",
  );
  t.equal(kit.run(id).state.type, "Running");
});

t.test("an engine from elsewhere that names no host is neither watched nor signalled", async (t) => {
  const kit = new DispatchKit();
  const id = createId(kit);
  const polled = poll(kit, "far", { pid: 77 }, false);
  move(kit, id, "Running");
  t.same(polled.orders, [], "its pid says nothing about a process of this host");
  cancel(kit, id);
  const outcome = kit.pass(60 * SECOND_US);
  t.equal(kit.run(id).state.type, "Cancelled");
  t.same(outcome.orders, []);
});

t.test(
  "an engine with several runs gets no signal because of one of them, before its first request after a restart too",
  async (t) => {
    const kit = new DispatchKit({ settings: { cancelGraceUs: SECOND_US } });
    const [stubborn, neighbour] = [createId(kit), createId(kit)];
    begin(kit, "e1", 2, heldOf(exchange(kit, "e1", 1)));
    kit.reloadEngines();
    cancel(kit, stubborn);
    t.same(signals([...kit.pass(SECOND_US).orders, ...kit.pass(SECOND_US).orders]), []);
    t.match(kit.run(stubborn).state, { type: "Cancelled", message: "killed" });
    t.match(kit.run(neighbour), { state: { type: "Running" }, assigned: true });
  },
);

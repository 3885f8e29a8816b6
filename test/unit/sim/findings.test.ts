/** Defects found by the simulation, each as a small case. */
import t from "tap";
import { LEASE_MANAGER } from "#actors/names";
import { StoreWriter } from "#actors/store-writer/store-writer";
import { Outbox } from "#runtime/effect";
import { Timers } from "#runtime/timers";
import { type Batch, emptyDecision } from "#storage/write/batch";
import { putOperation } from "#storage/write/ops";
import { SqliteStore } from "#storage/write/sqlite-store";
import { Writer } from "#storage/write/writer";
import { SimulatedDisk } from "../../sim/simulated-disk.ts";
import { SimulatedTime } from "../../sim/simulated-time.ts";
import { eventNames, operations } from "../../support/decision-record.ts";
import { DispatchKit, type Outcome } from "../../support/dispatch-kit.ts";
import { create, createId, MODULE, move, poll, SOURCE_DIR, startRun, workOf } from "../../support/dispatch-steps.ts";

t.test("a run that is being cancelled records no event, whatever the name of that state", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit);
  t.same(eventNames(move(kit, id, "Cancelling", { name: "winding down" })), []);
  t.equal(kit.run(id).state.name, "winding down");
});

t.test("engines of the pool that outlive a restart of the dispatcher keep their names for themselves", async (t) => {
  const kit = new DispatchKit({ settings: { spawnEngines: true, enginesMax: 4, serverPid: 77 } });
  const key = { source_dir: SOURCE_DIR, module: "other.ts", isolated: false, nice: 0 };
  kit.tell({ kind: "PoolReport", epoch: 1, engines: [{ engine_id: "engine-77-3", key }], newest: null });
  t.match(create(kit, { module: "flow.ts" }).orders, [{ kind: "Spawn", engine_id: "engine-77-4" }]);
});

t.test("another process under the name of an engine ends the runs of the former one and is stored again", async (t) => {
  const kit = new DispatchKit({ settings: { crashRetriesDefault: 0 } });
  const id = startRun(kit, "e1");
  poll(kit, "e1", { pid: 4321 });
  t.match(kit.run(id).state, { type: "Failed", details: { crash: "engine process exited unexpectedly" } });
  t.match(operations(create(kit), "put_engine"), [{ id: "e1", pid: 4321 }]);
});

t.test("a poll that the same engine left for another module is answered, and no run is given to it", async (t) => {
  const kit = new DispatchKit();
  const first = poll(kit, "e1");
  const second = poll(kit, "e1", { module: "other.py" });
  t.equal(workOf(second, first.command), null);
  t.equal(
    second.replies.some((reply) => reply.command === first.command),
    true,
  );
  const id = createId(kit);
  t.equal(kit.run(id).assigned, false);
});

t.test("a cancel requested by a move ends the run after twice the grace, and signals only an engine that holds it", async (t) => {
  const kit = new DispatchKit({ settings: { cancelGraceUs: 1_000_000 } });
  const id = startRun(kit, "e1");
  move(kit, id, "Paused");
  const other = createId(kit);
  poll(kit, "e1");
  t.equal(kit.run(other).engine_id, "e1");
  move(kit, id, "Cancelling");
  const { orders } = kit.pass(2_000_000);
  t.match(kit.run(id).state, { type: "Cancelled", message: "killed" });
  t.same(
    orders.filter((order) => order.kind === "Signal"),
    [],
  );
});

t.test("a run that its engine was given again at its next poll stays with it when the first answer proves lost", async (t) => {
  const kit = new DispatchKit();
  const id = createId(kit);
  const lost = poll(kit, "e1");
  const again = poll(kit, "e1");
  t.match(workOf(again), { run_id: id });
  kit.notice("Undelivered", lost.command);
  t.equal(kit.run(id).assigned, true);
  kit.notice("Undelivered", again.command);
  t.equal(kit.run(id).assigned, false, "an engine that got neither answer has not got the run");
  t.equal(kit.run(id).place, "ready");
});

t.test("a lease with an undelivered answer is taken back, and a paused run gets none", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "e1");
  const lost = kit.send("AcquireLease", { body: { run_id: id, resources: { lock: 1 } } });
  kit.send("AcquireLease", { body: { run_id: id, resources: { lock: 1 }, wait_ms: 1000 } });
  const again = kit.notice("Undelivered", lost.command, LEASE_MANAGER);
  t.match(operations(again, "delete_lease"), [{ id: lost.reply?.body["lease"] }]);
  t.match(again.replies, [{ status: 200, body: { lease: Number(lost.reply?.body["lease"]) + 1 } }]);
  move(kit, id, "Paused");
  t.equal(kit.send("AcquireLease", { body: { run_id: id, resources: { lock: 1 } } }).reply?.status, 409);
});

t.test(
  "what an engine sends twice under a lease that is over is applied once, also when it was given the run again",
  async (t) => {
    const kit = new DispatchKit();
    const id = startRun(kit, "e1");
    const lease = kit.run(id).assignment_id;
    const line = { run_id: id, level: 20, logger: "l", timestamp: 1, message: "once" };
    const body = { engine_id: "e1", run_id: id, lease, events: [{ kind: "logs", seq: 1, logs: [line] }] };
    t.equal(kit.send("Report", { body }).reply?.body["applied"], 1);
    const paused = move(kit, id, "Paused", { lease, timestamp: kit.nowUs });
    t.match(
      operations(paused, "update_run"),
      [{ assignment_id: lease, assigned: 0 }],
      "the newest assignment stays known after a reload",
    );
    kit.send("ResumeRun", { target: id, body: { input: 1 } });
    t.match(workOf(poll(kit, "e1")), { run_id: id });
    t.match(kit.send("Report", { body }).reply?.body, { applied: 0, last_seq: 1 });
  },
);

t.test("a cancel that an engine answered by asking for more work is done, and does not kill it later", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "e1");
  kit.send("CancelRun", { target: id });
  poll(kit, "e1");
  t.match(kit.run(id).state, { type: "Cancelled", message: "cancelled" });
});

t.test("a cancel takes no longer when the wall clock is set back meanwhile", async (t) => {
  const kit = new DispatchKit({ settings: { cancelGraceUs: 1_000_000 } });
  const id = startRun(kit, "e1");
  kit.pass(1_000_000);
  kit.send("CancelRun", { target: id });
  kit.nowUs -= 3_600_000_000;
  kit.tell({ kind: "Tick" });
  kit.pass(2_500_000);
  t.match(kit.run(id).state, { type: "Cancelled", message: "killed" });
});

t.test("a step of the wall clock is no silence of remote engines, and silence after it is noticed", async (t) => {
  for (const stepUs of [3_600_000_000, -3_600_000_000]) {
    const kit = new DispatchKit({ settings: { crashRetriesDefault: 0 } });
    const id = startRun(kit, "e1", {}, { host: "elsewhere" });
    kit.pass(1_000_000);
    kit.nowUs += stepUs;
    kit.tell({ kind: "Tick" });
    t.equal(kit.run(id).state.type, "Running");
    kit.pass(31_000_000);
    t.equal(kit.run(id).state.type, "Failed");
  }
});

t.test("runs find their engines again when the flow that lent theirs its priority is deleted", async (t) => {
  const kit = new DispatchKit();
  create(kit, { flow: "later", options: { priority: 4, after: { flow: "meek" } } });
  const id = createId(kit, { flow: "meek", options: { priority: -3 } });
  const later = [...kit.state.flows.values()].find((flow) => flow.name === "later");
  kit.send("DeleteFlow", { target: later?.id ?? 0 });
  t.match(workOf(poll(kit, "e1", { nice: 3 })), { run_id: id });
  t.same(
    [...kit.state.queue.keys()].map((queue) => queue.readyCount),
    [0, 0],
  );
});

t.test("intervals go on when the wall clock steps back", async (t) => {
  const time = new SimulatedTime();
  const fired: unknown[] = [];
  const timers = new Timers(time, time.createAlarm(), (_owner, message) => fired.push(message));
  timers.set("a", "before", time.nowUs() + 1_000_000, "before");
  time.stepWallClock(-3_600_000_000);
  timers.set("a", "after", time.nowUs() + 2_000_000, "after");
  time.advance(1_000_000);
  timers.fireDue();
  t.same(fired, ["before"]);
  time.advance(1_000_000);
  timers.fireDue();
  t.same(fired, ["before", "after"]);
});

t.test("when the run that was woken for a resource ends before it is handed out, the next one is woken", async (t) => {
  const kit = new DispatchKit();
  const options = { max_concurrent: 1 };
  const holder = startRun(kit, "e1", { options });
  const woken = createId(kit, { options });
  const next = createId(kit, { options });
  kit.pass(1_000_000);
  t.same([kit.run(woken).state.name, kit.run(next).state.name], ["AwaitingResource", "AwaitingResource"]);
  move(kit, holder, "Completed");
  kit.send("CancelRun", { target: woken });
  kit.pass(1_000_000);
  t.match(workOf(poll(kit, "e1")), { run_id: next });
});

t.test("an engine whose lease ended with a pause does not set the run going again", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "e1");
  const lease = kit.run(id).assignment_id;
  const paused = { lease, timestamp: kit.nowUs };
  t.equal(move(kit, id, "Paused", paused).reply?.status, 200);
  t.equal(move(kit, id, "Paused", paused).reply?.status, 200, "said twice");
  t.equal(move(kit, id, "Running", { lease, timestamp: kit.nowUs }).reply?.status, 409);
  t.equal(kit.run(id).state.type, "Paused");
});

t.test("a batch that was committed is acknowledged again while the store takes no writes", async (t) => {
  const disk = new SimulatedDisk();
  const writer = new StoreWriter(
    new SqliteStore(new Writer(disk.handle, { stream: "new_block", nowUs: () => 0 }), () => undefined),
    { nowUs: () => 0, done: () => undefined },
  );
  const batch: Batch = { kind: "Batch", number: 1, generation: 1, refusals: 0, epoch: null, ...emptyDecision() };
  putOperation(batch.ops, "put_cursor", { name: "a", event_id: 1 });
  const request = { batch, logs: { blocks: [], appended: [], nextLogId: 1 } };
  const send = (what: typeof request): unknown[] => {
    const out = new Outbox();
    writer.receive(what, out);
    return out.effects.map((effect) => (effect.kind === "Send" ? (effect.message as { kind: string }).kind : effect.kind));
  };
  t.same(send(request), ["Acknowledged"]);
  disk.refusal = "full";
  t.same(send(request), ["Acknowledged"]);
});

t.test("a run whose reservation ends when it is handed out wakes others for other requests only", async (t) => {
  const kit = new DispatchKit({ settings: { resourceTotals: new Map([["gpu", 2]]) } });
  const holder = startRun(kit, "e1", { flow: "holder", options: { resources: { lock: 1 } } });
  const reserving = createId(kit, { flow: "reserving", options: { resources: { lock: 1, gpu: 1 } } });
  kit.pass(61_000_000);
  const behind = createId(kit, { flow: "behind", options: { resources: { gpu: 2 } } });
  const small = createId(kit, { flow: "small", options: { resources: { gpu: 1 } } });
  const waits = poll(kit, "e2");
  const ended = move(kit, holder, "Completed");
  t.same(
    ended.replies.filter(({ command }) => command === waits.command).map(({ command }) => workOf(ended, command)?.["run_id"]),
    [reserving],
  );
  t.same([kit.run(behind).assigned, kit.run(small).assigned], [false, false]);
});

t.test("what the run of an ended engine sets free goes to other engines, not to the request that it left", async (t) => {
  const kit = new DispatchKit();
  const options = { max_concurrent: 1 };
  startRun(kit, "e1", { options });
  const next = createId(kit, { options });
  poll(kit, "e1");
  kit.tell({ kind: "EngineGone", engine_id: "e1", cause: "killed", details: {} });
  t.match(kit.run(next), { assigned: false, place: "ready" });
});

/** POST /api/engine/exchange by engine e1, which holds a run under these leases. */
function exchange(kit: DispatchKit, number: number, run: number, leases: number[], hold = false): Outcome {
  const identity = { engine_id: "e1", pid: 1000, source_dir: SOURCE_DIR, module: MODULE };
  const held = leases.map((lease) => ({ run_id: run, lease }));
  return kit.send("Exchange", { body: { ...identity, exchange: number, slots: 8, held, reports: [], hold } });
}

t.test("a resumed run that its engine has not begun again waits again when the engine ends", async (t) => {
  const kit = new DispatchKit();
  const id = createId(kit);
  exchange(kit, 1, id, []);
  for (const type of ["Running", "Paused"]) move(kit, id, type, { lease: 1, timestamp: kit.nowUs });
  kit.send("ResumeRun", { target: id, body: { input: null } });
  exchange(kit, 2, id, []);
  t.match(kit.run(id), { assigned: true, assignment_id: 2 });
  kit.tell({ kind: "EngineGone", engine_id: "e1", cause: "killed", details: {} });
  t.match(kit.run(id), { assigned: false, place: "ready", crash_count: 0 });
});

t.test("an engine that is still stopping a run is reminded every second, not by every exchange", async (t) => {
  const kit = new DispatchKit({ settings: { cancelGraceUs: 60_000_000 } });
  const id = createId(kit);
  exchange(kit, 1, id, []);
  move(kit, id, "Running", { lease: 1, timestamp: kit.nowUs });
  kit.send("CancelRun", { target: id });
  const order = [{ run_id: id, lease: 1, reason: "cancel" }];
  t.match(exchange(kit, 2, id, [1], true).reply?.body, { stop: order });
  const waits = exchange(kit, 3, id, [1], true);
  t.equal(waits.reply, null, "it has just been told");
  const reminded = kit.pass(1_250_000).replies.find(({ command }) => command === waits.command);
  t.match(reminded?.body, { stop: order });
  t.match(exchange(kit, 4, id, [1]).reply?.body, { stop: order }, "an exchange that is answered at once names it too");
});

t.test("an engine that waits hears of a cancel that somebody requested by a move", async (t) => {
  const kit = new DispatchKit();
  const id = createId(kit);
  exchange(kit, 1, id, []);
  move(kit, id, "Running", { lease: 1, timestamp: kit.nowUs });
  const waits = exchange(kit, 2, id, [1], true);
  const answer = move(kit, id, "Cancelling").replies.find(({ command }) => command === waits.command);
  t.match(answer?.body, { stop: [{ run_id: id, lease: 1, reason: "cancel" }] });
});

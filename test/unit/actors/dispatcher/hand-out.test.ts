import t from "tap";
import { eventNames, operations } from "../../../support/decision-record.ts";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { createId, MODULE, move, poll, report, SOURCE_DIR, startRun, workOf } from "../../../support/dispatch-steps.ts";

const SECOND_US = 1_000_000;

function runIdOf(outcome: ReturnType<typeof poll>, command = outcome.command): unknown {
  return workOf(outcome, command)?.["run_id"] ?? null;
}

t.test("a work item holds what the engine needs; the hand-out leaves the state alone", async (t) => {
  const kit = new DispatchKit();
  const id = createId(kit, { name: "mine", options: { retries: 2 } });
  const given = poll(kit, "e1", { pid: 77 });
  t.same(given.reply?.body, {
    run: {
      kind: "run",
      run_id: id,
      external_id: kit.run(id).texts?.external_id,
      run_name: "mine",
      project: "shop",
      flow: "job",
      parameters: {},
      options: { retries: 2 },
      cancel_requested: false,
      payload: null,
    },
    exit: false,
  });
  t.match(operations(given, "update_run"), [
    { id, state_type: "Scheduled", engine_id: "e1", engine_pid: 77, assignment_id: 1, assigned: 1 },
  ]);
  t.match(operations(given, "put_engine"), [{ id: "e1", pid: 77 }]);
  t.same(eventNames(given), []);
});

t.test("an engine that wants one run is given that one and no other, whatever its key", async (t) => {
  const kit = new DispatchKit();
  const [first, second] = [createId(kit), createId(kit, { flow: "low", options: { priority: -3 } })];
  const own = poll(kit, "e1", { run_id: second, module: "elsewhere" });
  t.equal(runIdOf(own), second);
  t.equal(runIdOf(poll(kit, "e2")), first);
  const third = createId(kit, { options: { resources: { lock: 1 } } });
  const holder = createId(kit, { options: { resources: { lock: 1 } } });
  t.equal(runIdOf(poll(kit, "e3")), third, "any engine takes what is first in line");
  const waiting = poll(kit, "e4", { run_id: holder });
  t.equal(waiting.replies.length, 0, "it waits for its resources");
  const freed = move(kit, third, "Cancelled");
  t.equal(workOf(freed, waiting.command)?.["run_id"], holder);
});

t.test("engines that end runs themselves are told their lease", async (t) => {
  const kit = new DispatchKit();
  createId(kit);
  t.equal(workOf(poll(kit, "e1", { owns_stop: true }))?.["lease"], 1);
});

t.test("a create finds the parked poll in the same decision; polls are served in order of arrival", async (t) => {
  const kit = new DispatchKit();
  const [first, second] = [poll(kit, "e1"), poll(kit, "e2")];
  t.equal(first.replies.length + second.replies.length, 0, "both wait");
  const body = { project: "shop", flow: "job", module: MODULE, source_dir: SOURCE_DIR };
  const one = kit.send("CreateRun", { body });
  t.equal(one.reply?.status, 201);
  t.equal(runIdOf(one, first.command), 1);
  t.equal(workOf(kit.send("CreateRun", { body }), second.command)?.["run_id"], 2);
});

t.test("order: priority, then scheduled time or creation, then id", async (t) => {
  const kit = new DispatchKit();
  const low = createId(kit, { flow: "low", options: { priority: 0 } });
  kit.nowUs += 1;
  const later = createId(kit, { flow: "low" });
  const twin = createId(kit, { flow: "low" });
  const high = createId(kit, { flow: "high", options: { priority: 5 } });
  const order = ["e1", "e2", "e3", "e4"].map((engine) => runIdOf(poll(kit, engine)));
  t.same(order, [high, low, later, twin]);
});

t.test("matching is exact text in source_dir, module, isolated and nice", async (t) => {
  const kit = new DispatchKit();
  const id = createId(kit, { options: { priority: -30, isolated: true } });
  for (const [index, wish] of [
    {},
    { nice: 19 },
    { isolated: true },
    { isolated: true, nice: 18 },
    { isolated: true, nice: 19, module: `./${MODULE}` },
    { isolated: true, nice: 19, source_dir: `${SOURCE_DIR}/` },
  ].entries()) {
    t.equal(runIdOf(poll(kit, `x${index}`, wish)), null, JSON.stringify(wish));
  }
  t.equal(runIdOf(poll(kit, "e1", { isolated: true, nice: 19 })), id, "a priority of -30 runs at nice 19");
});

t.test("one poll per engine: a second one is answered, the first gets nothing", async (t) => {
  const kit = new DispatchKit();
  const first = poll(kit, "e1");
  const second = poll(kit, "e1");
  t.match(second.replies, [{ command: first.command, status: 200, body: { run: null, exit: false } }]);
  createId(kit);
  t.equal([...kit.state.queue.polls()].length, 0);
});

t.test("a poll without waiting time, one that expires and one that is abandoned", async (t) => {
  const kit = new DispatchKit();
  t.match(poll(kit, "e1", { wait_ms: 0 }).reply, { status: 200, body: { run: null, exit: false } });
  const parked = poll(kit, "e1");
  t.match(kit.notice("Expired", parked.command).reply, { status: 200, body: { run: null, exit: false } });
  t.same(kit.notice("Expired", parked.command).replies, [], "answered once");
  const left = poll(kit, "e1");
  t.same(kit.notice("Abandoned", left.command).replies, []);
  const id = createId(kit);
  t.equal(kit.run(id).assigned, false, "nothing is given to a poll that has gone");
  t.same(kit.notice("Expired", 9999).replies, []);
});

t.test("commands and notices of another epoch are dropped", async (t) => {
  const kit = new DispatchKit();
  const parked = poll(kit, "e1");
  const epoch = kit.epoch;
  kit.tell({ kind: "Expired", epoch: epoch - 1, command: parked.command });
  t.equal([...kit.state.queue.polls()].length, 1);
});

t.test("an assignment that is not acknowledged is given again, with the same lease", async (t) => {
  const kit = new DispatchKit();
  const id = createId(kit);
  createId(kit);
  const first = poll(kit, "e1", { owns_stop: true });
  kit.pass(30 * SECOND_US);
  const again = poll(kit, "e1", { owns_stop: true });
  t.same(again.reply?.body, first.reply?.body);
  t.equal(again.ops.length, 0, "nothing changes");
  for (const acknowledge of [
    () => move(kit, id, "Pending"),
    () => report(kit, id, []),
    () => kit.send("Heartbeat", { body: { engine_id: "e1", run_id: id } }),
  ]) {
    kit.run(id).acknowledged = false;
    acknowledge();
    t.equal(kit.run(id).acknowledged, true);
  }
});

t.test("an engine that polls for long after the last word of its run has left it", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit);
  kit.pass(4_999_999);
  const early = poll(kit, "e1", { wait_ms: 0 });
  t.equal(kit.run(id).state.type, "Running", "its reports may still be on their way");
  t.equal(runIdOf(early), null);
  kit.pass(1);
  const late = poll(kit, "e1", { wait_ms: 0 });
  t.match(kit.run(id).state, { type: "Crashed", message: "left by its engine" });
  t.match(operations(late, "put_rerun"), [{ run_id: id }]);
});

t.test("steps of the clock do not hide that a run was left, nor make it look so", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit);
  kit.setClock(3_600_000_000);
  kit.send("Heartbeat", { body: { engine_id: "e1", run_id: id } });
  poll(kit, "e1", { wait_ms: 0 });
  t.equal(kit.run(id).state.type, "Running", "the clock was set forward since the last word");
  // Between two ticks, so that no tick sees the step.
  kit.setClock(-3_600_000_000);
  kit.pass(4_999_999);
  poll(kit, "e1", { wait_ms: 0 });
  t.equal(kit.run(id).state.type, "Running");
  kit.pass(1);
  poll(kit, "e1", { wait_ms: 0 });
  t.match(kit.run(id).state, { type: "Crashed", message: "left by its engine" });
});

t.test("an undelivered answer is taken back; the run keeps its place", async (t) => {
  const kit = new DispatchKit();
  const id = createId(kit, { options: { resources: { db: 1 } } });
  const lost = poll(kit, "e1");
  const back = kit.notice("Undelivered", lost.command);
  t.equal(kit.run(id).assigned, false);
  t.match(operations(back, "update_run"), [{ id, assignment_id: 1, assigned: 0, state_type: "Scheduled" }]);
  t.equal(operations(back, "delete_lease").length, 1);
  t.equal(runIdOf(poll(kit, "e2")), id);
  t.same(kit.notice("Undelivered", lost.command).ops, [], "the second engine keeps it");
});

t.test("an isolated engine whose item was lost is not sent away with nothing done", async (t) => {
  const kit = new DispatchKit();
  const id = createId(kit, { options: { isolated: true } });
  const lost = poll(kit, "e1", { isolated: true });
  kit.notice("Undelivered", lost.command);
  t.equal(runIdOf(poll(kit, "e1", { isolated: true })), id);
});

t.test("an engine leaves: isolated and done, out of runs, told to, too many external ones", async (t) => {
  const exitOf = (kit: DispatchKit, engine: string, wish = {}) => poll(kit, engine, { wait_ms: 0, ...wish }).reply?.body["exit"];
  const isolated = new DispatchKit();
  move(isolated, startRun(isolated, "e1", { options: { isolated: true } }, { isolated: true }), "Completed");
  t.equal(exitOf(isolated, "e1", { isolated: true }), true);
  t.equal(isolated.state.engines.has("e1"), false, "forgotten with that answer");
  const worn = new DispatchKit({ settings: { engineRunsMax: 2 } });
  for (const leaves of [false, true]) {
    move(worn, startRun(worn), "Completed");
    t.equal(exitOf(worn, "e1"), leaves);
  }
  const crowded = new DispatchKit({ settings: { externalEnginesMax: 1 } });
  const waiting = poll(crowded, "e1");
  t.equal(exitOf(crowded, "e2"), true, "all others wait for work or do some");
  t.equal(crowded.state.engines.has("e1"), true);
  crowded.notice("Expired", waiting.command);
  t.equal(exitOf(crowded, "e2"), false, "the idle one has made room");
  t.equal(crowded.state.engines.has("e1"), false);
});

t.test("engine ids that somebody makes up lock out no engine: the oldest idle ones are forgotten", async (t) => {
  const kit = new DispatchKit({ settings: { externalEnginesMax: 10 } });
  const busy = startRun(kit, "busy");
  const parked = poll(kit, "parked", { module: "other.py" });
  for (let count = 0; count < 50; count += 1) t.equal(poll(kit, `made-up-${count}`, { wait_ms: 0 }).reply?.body["exit"], false);
  t.equal(kit.state.engines.size, 10);
  t.equal(kit.run(busy).state.type, "Running");
  const next = createId(kit, { module: "other.py", flow: "next" });
  t.equal(kit.run(next).engine_id, "parked", `the poll ${parked.command} still waited`);
  t.match(move(kit, busy, "Completed").reply, { status: 200 });
});

t.test("a changed module: idle engines leave at once, busy ones after their run", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit, "busy");
  const idle = poll(kit, "idle");
  const changed = kit.tell({ kind: "ModuleChanged", source_dir: SOURCE_DIR, module: MODULE });
  t.match(changed.replies, [{ command: idle.command, body: { run: null, exit: true } }]);
  t.equal(kit.run(id).state.type, "Running");
  move(kit, id, "Completed");
  t.equal(poll(kit, "busy", { wait_ms: 0 }).reply?.body["exit"], true);
});

t.test("stopping: parked polls leave, later ones as well", async (t) => {
  const kit = new DispatchKit();
  const parked = poll(kit, "e1");
  t.match(kit.tell({ kind: "StopWork" }).replies, [{ command: parked.command, body: { exit: true } }]);
  t.equal(poll(kit, "e2").reply?.body["exit"], true);
});

t.test("stopping: each request for a count is answered with the runs under way", async (t) => {
  const kit = new DispatchKit();
  const id = createId(kit, { flow: "holder" });
  poll(kit, "busy");
  move(kit, id, "Running");
  const staying = () => kit.tell({ kind: "StopWork" }).orders.filter(({ kind }) => kind === "Staying");
  t.same(staying(), [{ kind: "Staying", runs: 1 }]);
  t.same(staying(), [{ kind: "Staying", runs: 1 }]);
  move(kit, id, "Completed");
  t.same(staying(), [{ kind: "Staying", runs: 0 }]);
});

t.test("resources are taken with the hand-out, all or nothing; who lacks one is passed over", async (t) => {
  const kit = new DispatchKit({ settings: { resourceTotals: new Map([["db", 2]]) } });
  const holder = createId(kit, { flow: "holder", options: { resources: { db: 1 } } });
  const both = createId(kit, { flow: "both", options: { resources: { db: 1, gpu: 2 } } });
  const large = createId(kit, { flow: "large", options: { resources: { db: 2 }, priority: 9 } });
  const small = createId(kit, { flow: "small", options: { resources: { db: 1 } } });
  t.equal(runIdOf(poll(kit, "e1")), large, "the highest priority comes first");
  move(kit, large, "Pending");
  const waiting = poll(kit, "e2");
  t.equal(runIdOf(waiting), null);
  const ended = move(kit, large, "Completed");
  t.equal(runIdOf(ended, waiting.command), holder);
  t.equal(runIdOf(poll(kit, "e3")), small);
  t.equal(runIdOf(poll(kit, "e4")), null, "gpu has a total of one, two are never there");
  t.equal(kit.run(both).place, "blocked");
  t.same(kit.state.ledger.usedOf("db"), 2);
});

t.test("shares of a resource: who waits for a tenth is woken by the end of one of ten", async (t) => {
  for (const byTick of [false, true]) {
    const kit = new DispatchKit({ settings: { resourceTotals: new Map([["r", 1]]) } });
    const options = { resources: { r: 0.1 } };
    const holders = Array.from({ length: 10 }, (_, index) => startRun(kit, `e${index}`, { options }));
    const id = createId(kit, { options });
    const waiting = poll(kit, "next");
    t.equal(kit.run(id).place, "blocked");
    if (byTick) kit.state.ledger.end(kit.state.ledger.leasesOf(holders[3] ?? 0)[0]?.id ?? 0);
    const freed = byTick ? kit.tell({ kind: "Tick" }) : move(kit, holders[3] ?? 0, "Completed");
    t.equal(runIdOf(freed, waiting.command), id, byTick ? "woken by the tick" : "woken by the end");
  }
});

t.test("a larger total wakes what waits for it", async (t) => {
  const kit = new DispatchKit({ settings: { resourceTotals: new Map([["db", 1]]) } });
  const id = createId(kit, { options: { resources: { db: 2 } } });
  const parked = poll(kit, "e1");
  const patched = kit.send("PatchSettings", { body: { resources: { db: 2 } } });
  t.equal(patched.reply?.status, 200);
  t.equal(runIdOf(patched, parked.command), id);
});

t.test("a run that needs more than the total reserves nothing, and says what it lacks", async (t) => {
  const kit = new DispatchKit();
  const holder = startRun(kit, "e1", { flow: "holder", options: { resources: { lic: 1 } } });
  const impossible = createId(kit, { flow: "impossible", options: { resources: { lic: 2 } } });
  const possible = createId(kit, { flow: "possible", options: { resources: { lic: 1 } } });
  for (let second = 0; second < 70; second += 1) kit.pass(SECOND_US);
  t.equal(kit.state.reservations.get("lic")?.id, possible, "the run behind it reserves");
  const parked = poll(kit, "e2", { wait_ms: 30_000 });
  t.equal(runIdOf(move(kit, holder, "Completed"), parked.command), possible);
  t.match(kit.send("ExplainRun", { target: impossible }).reply?.body["reason"], {
    code: "resource",
    object: "lic",
    text: "it needs 2 of lic, but the total is 1",
  });
});

t.test("a lowered total ends a reservation that it puts out of reach", async (t) => {
  const kit = new DispatchKit({ settings: { resourceTotals: new Map([["lic", 2]]) } });
  const holder = startRun(kit, "e1", { flow: "holder", options: { resources: { lic: 1 } } });
  const large = createId(kit, { flow: "large", options: { resources: { lic: 2 } } });
  for (let second = 0; second < 70; second += 1) kit.pass(SECOND_US);
  t.equal(kit.state.reservations.get("lic")?.id, large);
  const small = createId(kit, { flow: "small", options: { resources: { lic: 1 } } });
  const text = `it needs 1 of lic; 1 of 2 are held, and what becomes free is reserved for run ${large}, which waits longer`;
  const parked = poll(kit, "e2", { wait_ms: 30_000 });
  t.match(kit.send("ExplainRun", { target: small }).reply?.body["reason"], { code: "resource", object: "lic", text });
  kit.send("PatchSettings", { body: { resources: { lic: 1 } } });
  t.equal(runIdOf(move(kit, holder, "Completed"), parked.command), small);
});

t.test("max_concurrent holds runs of the flow apart", async (t) => {
  const kit = new DispatchKit();
  const first = startRun(kit, "e1", { options: { max_concurrent: 1 } });
  const second = createId(kit);
  const parked = poll(kit, "e2");
  t.equal(runIdOf(parked), null);
  t.equal(runIdOf(move(kit, first, "Paused"), parked.command), second, "a paused run holds nothing");
});

t.test("a run that waits for a resource says so once, a ready one says nothing", async (t) => {
  const kit = new DispatchKit();
  const holder = startRun(kit, "e1", { options: { resources: { db: 1 } } });
  const id = createId(kit);
  const plain = createId(kit, { flow: "plain" });
  const marked = kit.pass(SECOND_US / 2);
  t.match(kit.run(id).state, {
    type: "Scheduled",
    name: "AwaitingResource",
    message: "waiting for db",
    details: { resource: "db" },
  });
  t.same(eventNames(marked), ["resource.exhausted"]);
  t.equal(kit.run(plain).state.name, "Scheduled");
  t.same(eventNames(kit.pass(5 * SECOND_US)), [], "once per wait");
  const parked = poll(kit, "e2", { wait_ms: 30_000 });
  t.equal(runIdOf(parked), plain);
  const next = poll(kit, "e3");
  const given = move(kit, holder, "Completed");
  t.equal(runIdOf(given, next.command), id);
  t.equal(kit.run(id).state.name, "AwaitingResource", "the state stays until Pending");
  t.match(move(kit, id, "Pending").reply, { status: 200 });
});

t.test("an engine elsewhere lives by contact; one on this host by its process", async (t) => {
  const kit = new DispatchKit();
  const remote = startRun(kit, "far", {}, { host: "other boot-9" });
  const local = startRun(kit, "near");
  kit.pass(29 * SECOND_US);
  t.equal(kit.run(remote).state.type, "Running");
  kit.pass(2 * SECOND_US);
  t.match(kit.run(remote).state, { type: "Crashed", message: "no contact with its engine" });
  t.equal(kit.run(local).state.type, "Running");
});

t.test("an engine elsewhere that waits for work is not silent", async (t) => {
  const kit = new DispatchKit();
  poll(kit, "far", { host: "other boot-9" });
  kit.pass(100 * SECOND_US);
  t.ok(kit.state.engines.has("far"));
});

t.test("the process of a stored engine is recognised by its start time", async (t) => {
  const kit = new DispatchKit();
  createId(kit);
  const given = poll(kit, "e1", { pid: 77 });
  t.match(given.orders, [{ kind: "Watch", engine_id: "e1", pid: 77 }]);
  const seen = kit.tell({ kind: "EngineSeen", engine_id: "e1", pid_started: 123456 });
  t.match(operations(seen, "put_engine"), [{ id: "e1", pid: 77, pid_started: 123456 }]);
  t.same(operations(kit.tell({ kind: "EngineSeen", engine_id: "e1", pid_started: 123456 }), "put_engine"), []);
});

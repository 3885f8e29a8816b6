import t from "tap";
import type { DispatchSettings } from "#actors/core/state/live-state";
import { eventNames } from "../../../support/decision-record.ts";
import { DispatchKit, type Outcome } from "../../../support/dispatch-kit.ts";
import { createId, move, poll, SOURCE_DIR, workOf } from "../../../support/dispatch-steps.ts";

const SECOND_US = 1_000_000;
const OURS = "jobs.ts";

function setup(settings: Partial<DispatchSettings> = {}): DispatchKit {
  const kit = new DispatchKit({ settings: { spawnEngines: true, enginesMax: 2, ...settings } });
  kit.tell({ kind: "PoolReport", epoch: 1, engines: [], newest: null });
  return kit;
}

/** Started engines: id and key. */
function spawned(...outcomes: Outcome[]) {
  return outcomes.flatMap(({ orders }) => orders).flatMap((order) => (order.kind === "Spawn" ? [order] : []));
}

/** Sends a create and returns its effects. */
function demand(kit: DispatchKit, more: Record<string, unknown> = {}): Outcome {
  return kit.send("CreateRun", { body: { project: "shop", flow: "job", module: OURS, source_dir: SOURCE_DIR, ...more } });
}

function idle(kit: DispatchKit, engine: string, wish = {}) {
  return poll(kit, engine, { module: OURS, ...wish });
}

t.test("engines are started for runs that could start, up to the bound", async (t) => {
  const kit = setup();
  const first = demand(kit);
  t.match(spawned(first), [
    { engine_id: "engine-4242-1", key: { source_dir: SOURCE_DIR, module: OURS, isolated: false, nice: 0 } },
  ]);
  t.equal(spawned(demand(kit)).length, 1, "one that starts covers one run");
  t.equal(spawned(demand(kit)).length, 0, "the pool is full");
  t.equal(spawned(kit.pass(10 * SECOND_US)).length, 0);
  const gone = kit.tell({ kind: "EngineGone", engine_id: "engine-4242-1", cause: null });
  t.equal(spawned(gone, kit.pass(SECOND_US)).length, 1, "a place that is free is used");
});

t.test("names with line breaks lead to engines of exactly that directory and module", async (t) => {
  const kit = setup();
  const odd = { source_dir: "/flows\nold", module: "nightly\njobs.ts" };
  t.match(spawned(demand(kit, odd)), [{ key: { ...odd, isolated: false, nice: 0 } }]);
  const other = { source_dir: "/flows", module: "old\nnightly\njobs.ts" };
  t.equal(workOf(idle(kit, "other", other)), null, "an engine of other code gets no run of it");
  t.equal(workOf(idle(kit, "engine-4242-1", odd))?.["run_id"], 1);
});

t.test("a run for which every place is taken says so, without an event", async (t) => {
  const kit = setup({ enginesMax: 1 });
  demand(kit);
  t.match(kit.send("ExplainRun", { target: 1 }).reply?.body, { reason: { code: "no_engine" } }, "an engine is starting for it");
  kit.pass(SECOND_US);
  t.equal(kit.run(1).state.name, "Scheduled");
  idle(kit, "engine-4242-1");
  demand(kit);
  const waited = kit.pass(SECOND_US);
  t.match(kit.run(2).state, {
    type: "Scheduled",
    name: "AwaitingResource",
    message: "no engine slot",
    details: { resource: "no engine slot" },
  });
  t.same(eventNames(waited), []);
  t.match(kit.send("ExplainRun", { target: 2 }).reply?.body, {
    reason: { code: "no_engine_slot", object: OURS, text: /every place of the engine pool is taken \(1\)/ },
    place: 1,
  });
  t.equal(kit.pass(SECOND_US).ops.length, 0, "it is marked once");
  move(kit, 1, "Completed");
  t.equal(workOf(idle(kit, "engine-4242-1"))?.["run_id"], 2, "the place that became free is its own");
});

t.test("a parked engine is used before one is started", async (t) => {
  const kit = setup();
  demand(kit);
  idle(kit, "engine-4242-1");
  move(kit, 1, "Completed");
  const parked = idle(kit, "engine-4242-1");
  const next = demand(kit);
  t.equal(workOf(next, parked.command)?.["run_id"], 2);
  t.equal(spawned(next).length, 0);
});

t.test("runs that cannot start ask for no engine: blocked ones and those of other modules", async (t) => {
  const kit = setup();
  t.equal(spawned(demand(kit, { flow: "py", module: "jobs.py" })).length, 0);
  demand(kit, { flow: "capped", options: { max_concurrent: 1 } });
  idle(kit, "engine-4242-1");
  t.equal(spawned(demand(kit, { flow: "capped" })).length, 0, "its place is taken");
});

t.test("a configured command makes a module startable", async (t) => {
  const kit = setup({ enginePatterns: ["*.py"] });
  t.equal(spawned(demand(kit, { module: "jobs.py" })).length, 1);
  t.equal(spawned(demand(kit, { flow: "rb", module: "jobs.rb" })).length, 0);
});

t.test("none is started before the pool is known, when engines are the user's, or while stopping", async (t) => {
  const unknown = new DispatchKit({ settings: { spawnEngines: true } });
  t.equal(spawned(demand(unknown)).length, 0);
  t.equal(spawned(unknown.tell({ kind: "PoolReport", epoch: 1, engines: [], newest: null })).length, 1, "as soon as it is known");
  t.equal(spawned(demand(setup({ spawnEngines: false }))).length, 0);
  const stopping = setup();
  demand(stopping);
  stopping.tell({ kind: "StopWork" });
  stopping.tell({ kind: "EngineGone", engine_id: "engine-4242-1", cause: null });
  t.equal(spawned(stopping.pass(60 * SECOND_US)).length, 0);
});

t.test("engines that outlived a restart of the dispatcher count", async (t) => {
  const kit = new DispatchKit({ settings: { spawnEngines: true, enginesMax: 1 } });
  const key = { source_dir: SOURCE_DIR, module: OURS, isolated: false, nice: 0 };
  kit.tell({ kind: "PoolReport", epoch: 1, engines: [{ engine_id: "engine-4242-7", key }], newest: null });
  t.equal(spawned(demand(kit)).length, 0);
  t.equal(workOf(idle(kit, "engine-4242-7"))?.["run_id"], 1);
});

t.test(
  "no name is given to a second engine: neither that of one started before a restart, nor that of one still known",
  async (t) => {
    const kit = new DispatchKit({ settings: { spawnEngines: true, enginesMax: 9 } });
    createId(kit, { flow: "other", module: "other.ts" });
    poll(kit, "engine-4242-5", { module: "other.ts" });
    const report = (epoch: number, newest: string | null) => kit.tell({ kind: "PoolReport", epoch, engines: [], newest });
    kit.epoch = 2;
    demand(kit);
    t.same(spawned(report(1, null)), [], "the response to a former dispatcher says too little");
    t.match(spawned(report(2, "engine-4242-4")), [{ engine_id: "engine-4242-6" }]);
  },
);

t.test("the end of a former process of that name does not end an engine that is starting", async (t) => {
  const kit = setup();
  t.equal(spawned(demand(kit)).length, 1);
  kit.tell({ kind: "EngineGone", engine_id: "engine-4242-1", pid: 77, cause: null });
  t.same([...kit.state.pool.keys()], ["engine-4242-1"]);
  kit.tell({ kind: "EngineGone", engine_id: "engine-4242-1", cause: null });
  t.same([...kit.state.pool.keys()], []);
});

t.test("a full pool makes room: the engine of another key that was idle longest leaves", async (t) => {
  const kit = setup({ enginesMax: 2 });
  const keys = ["a.ts", "b.ts"];
  const polls = keys.map((module, index) => {
    createId(kit, { flow: module, module });
    const engine = `engine-4242-${index + 1}`;
    idle(kit, engine, { module });
    move(kit, index + 1, "Completed");
    kit.pass(SECOND_US);
    return idle(kit, engine, { module });
  });
  const wanted = demand(kit, { flow: "c", module: "c.ts" });
  t.match(wanted.replies.find(({ command }) => command === polls[0]?.command)?.body, { run: null, exit: true });
  t.notOk(wanted.replies.some(({ command }) => command === polls[1]?.command));
  t.equal(spawned(wanted).length, 0, "its place is free when its process has gone");
  const gone = kit.tell({ kind: "EngineGone", engine_id: "engine-4242-1", cause: null });
  t.match(spawned(gone, kit.pass(SECOND_US)), [{ key: { module: "c.ts" } }]);
});

t.test("an engine with runs drains for a key that has waited, also when the clock was ahead as the wait began", async (t) => {
  for (const aheadUs of [0, 3600 * SECOND_US]) {
    const kit = setup({ enginesMax: 1 });
    createId(kit, { flow: "a", module: "a.ts" });
    t.ok(workOf(idle(kit, "engine-4242-1", { module: "a.ts" })));
    kit.setClock(aheadUs);
    demand(kit, { flow: "c", module: "c.ts" });
    kit.pass(SECOND_US / 2);
    t.equal(kit.state.engines.get("engine-4242-1")?.exitRequested, false);
    kit.setClock(-aheadUs);
    kit.pass(SECOND_US);
    t.equal(kit.state.engines.get("engine-4242-1")?.exitRequested, true);
  }
});

t.test("an engine that has done its number of runs leaves", async (t) => {
  const kit = setup({ engineRunsMax: 1 });
  demand(kit);
  idle(kit, "engine-4242-1");
  move(kit, 1, "Completed");
  t.match(idle(kit, "engine-4242-1").reply?.body, { run: null, exit: true });
});

/** An exchange of an engine for its module; it holds the given run and reports that it went through these states. */
function exchange(kit: DispatchKit, engine: string, number: number, done: number | null = null, wish = {}): Outcome {
  const held = done === null ? [] : [{ run_id: done, lease: kit.run(done).assignment_id }];
  const state = (type: string) => ({ type, name: type, timestamp: kit.nowUs, message: null, details: {} });
  const events = ["Pending", "Running", "Completed"].map((type, at) => ({
    kind: "run_transition",
    seq: at + 1,
    state: state(type),
  }));
  const reports = held.map((each) => ({ ...each, events }));
  const identity = { engine_id: engine, pid: 1000, source_dir: SOURCE_DIR, module: OURS };
  return kit.send("Exchange", { body: { ...identity, exchange: number, slots: 1, held, reports, ...wish } });
}

function givenTo(outcome: Outcome, command = outcome.command): unknown[] | undefined {
  return outcome.replies.find((reply) => reply.command === command)?.body["runs"] as unknown[] | undefined;
}

t.test("an engine that has done its number of runs goes on until its successor asks for work", async (t) => {
  const kit = setup({ engineRunsMax: 2, enginesMax: 1 });
  demand(kit);
  demand(kit);
  t.match(givenTo(exchange(kit, "engine-4242-1", 1)), [{ run_id: 1 }]);
  t.same(spawned(exchange(kit, "engine-4242-1", 2, 1)), []);
  const worn = exchange(kit, "engine-4242-1", 3, 2, { hold: false });
  t.match(spawned(worn), [{ engine_id: "engine-4242-2", key: { module: OURS } }], "even if no run waits");
  t.match(worn.reply?.body, { exit: false });
  const waits = exchange(kit, "engine-4242-1", 4);
  const third = demand(kit);
  t.match(givenTo(third, waits.command), [{ run_id: 3 }], "a run does not wait for the start");
  t.same(spawned(third, kit.pass(SECOND_US)), [], "one successor");
  t.match(exchange(kit, "engine-4242-2", 1).reply, null);
  t.equal(kit.state.engines.get("engine-4242-1")?.exitRequested, true);
  const fourth = demand(kit);
  t.ok(
    fourth.replies.some(({ body }) => (body["runs"] as { run_id: number }[] | undefined)?.[0]?.run_id === 4),
    "to the successor",
  );
  t.equal(kit.run(4).engine_id, "engine-4242-2");
  t.match(exchange(kit, "engine-4242-1", 5, 3).reply?.body, { exit: true, runs: [] });
  t.same(spawned(kit.tell({ kind: "EngineGone", engine_id: "engine-4242-1", cause: null }), kit.pass(SECOND_US)), []);
});

t.test("a worn engine that waits leaves when its successor asks for work", async (t) => {
  const kit = setup({ engineRunsMax: 1, enginesMax: 1 });
  demand(kit);
  exchange(kit, "engine-4242-1", 1);
  exchange(kit, "engine-4242-1", 2, 1, { hold: false });
  const waits = exchange(kit, "engine-4242-1", 3);
  const ready = exchange(kit, "engine-4242-2", 1);
  t.match(ready.replies.find(({ command }) => command === waits.command)?.body, { exit: true, runs: [] });
  t.notOk(kit.state.engines.has("engine-4242-1"));
});

t.test("a successor that ends before it asks for work is started again, while the worn engine goes on", async (t) => {
  const kit = setup({ engineRunsMax: 1, enginesMax: 1 });
  demand(kit);
  exchange(kit, "engine-4242-1", 1);
  exchange(kit, "engine-4242-1", 2, 1, { hold: false });
  const died = kit.tell({ kind: "EngineGone", engine_id: "engine-4242-2", cause: "no memory" });
  t.same(spawned(died), []);
  demand(kit);
  t.match(givenTo(exchange(kit, "engine-4242-1", 3)), [{ run_id: 2 }]);
  t.match(spawned(kit.pass(SECOND_US)), [{ engine_id: "engine-4242-3" }]);
});

t.test("an engine that asks to be replaced goes on until its successor is ready, and the log has the reason once", async (t) => {
  const kit = setup();
  demand(kit);
  exchange(kit, "engine-4242-1", 1);
  const asked = exchange(kit, "engine-4242-1", 2, 1, { hold: false, replace: "it leaks" });
  t.match(spawned(asked), [{ engine_id: "engine-4242-2" }]);
  t.same(asked.serverLog, [`engine engine-4242-1 of ${OURS} is replaced after 1 runs: it leaks`]);
  t.same(exchange(kit, "engine-4242-1", 3, null, { hold: false, replace: "it leaks" }).serverLog, []);
  demand(kit);
  t.match(givenTo(exchange(kit, "engine-4242-1", 4, null, { replace: "it leaks" })), [{ run_id: 2 }]);
  exchange(kit, "engine-4242-2", 1);
  t.match(exchange(kit, "engine-4242-1", 5, 2, { replace: "it leaks" }).reply?.body, { exit: true });
});

t.test("isolated runs get an engine each", async (t) => {
  const kit = setup({ enginesMax: 5 });
  const options = { isolated: true };
  t.match(spawned(demand(kit, { options }), demand(kit)), [{ key: { isolated: true } }, { key: { isolated: true } }]);
});

t.test("engines that die before their first poll are started again after growing pauses", async (t) => {
  const kit = setup({ enginesMax: 1 });
  demand(kit);
  const pausesUs: number[] = [];
  for (let failures = 1; failures <= 9; failures += 1) {
    const diedUs = kit.nowUs;
    kit.tell({ kind: "EngineGone", engine_id: `engine-4242-${failures}`, cause: "no such program" });
    while (spawned(kit.pass(SECOND_US / 4)).length === 0) if (kit.nowUs - diedUs > 100 * SECOND_US) break;
    pausesUs.push(kit.nowUs - diedUs);
  }
  t.ok(
    pausesUs.every((us, index) => index === 0 || us >= (pausesUs[index - 1] ?? 0)),
    pausesUs.join(" "),
  );
  t.ok((pausesUs[0] ?? 0) <= SECOND_US);
  t.ok((pausesUs.at(-1) ?? 0) >= 30 * SECOND_US && (pausesUs.at(-1) ?? 0) <= 31 * SECOND_US);
  t.equal(kit.run(1).state.type, "Scheduled", "the run waits");
});

t.test(
  "why engines end before their first poll is said by the run, and once to the log, but not where they told it",
  async (t) => {
    const kit = setup({ enginesMax: 1, enginePatterns: ["*.py"] });
    const end = (number: number, cause: string | null) =>
      kit
        .tell({ kind: "EngineGone", engine_id: `engine-4242-${number}`, cause })
        .orders.filter(({ kind }) => kind === "StartFailed");
    const reason = (run: number) => kit.send("ExplainRun", { target: run }).reply?.body["reason"];
    demand(kit, { module: "greet.py" });
    t.match(end(1, "no such program"), [{ engine_id: "engine-4242-1", module: "greet.py", cause: "no such program" }]);
    t.match(reason(1), {
      code: "engine_start_failed",
      object: "greet.py",
      text: /: no such program; see the command of "\*\.py"/,
    });
    kit.pass(SECOND_US);
    t.same(end(2, "no such program"), []);
    kit.pass(10 * SECOND_US);
    t.match(end(3, "exit code 1"), [{ cause: "exit code 1" }]);
    t.match(reason(1), { text: /exit code 1/ });
    kit.pass(10 * SECOND_US);
    idle(kit, "engine-4242-4", { module: "greet.py" });
    demand(kit, { module: "greet.py" });
    t.match(reason(2), { code: "no_engine" }, "an engine has come");

    const failing = setup({ enginesMax: 1 });
    demand(failing);
    failing.send("EngineFailed", {
      body: { engine_id: "engine-4242-1", source_dir: SOURCE_DIR, module: OURS, traceback: "Error: no such table" },
    });
    t.same(failing.tell({ kind: "EngineGone", engine_id: "engine-4242-1", cause: "exit code 1" }).orders, []);
  },
);

t.test("one that polled forgets former failures", async (t) => {
  const kit = setup({ enginesMax: 1 });
  demand(kit);
  for (const number of [1, 2, 3]) {
    kit.tell({ kind: "EngineGone", engine_id: `engine-4242-${number}`, cause: null });
    kit.pass(10 * SECOND_US);
  }
  t.equal(workOf(idle(kit, "engine-4242-4"))?.["run_id"], 1);
  move(kit, 1, "Completed");
  kit.tell({ kind: "EngineGone", engine_id: "engine-4242-4", cause: null });
  t.equal(spawned(demand(kit)).length, 1, "at once");
});

t.test("an engine that found no work for long leaves", async (t) => {
  const kit = setup();
  demand(kit);
  idle(kit, "engine-4242-1");
  move(kit, 1, "Completed");
  const parked = idle(kit, "engine-4242-1");
  t.same(kit.pass(299 * SECOND_US).replies, []);
  t.match(kit.pass(2 * SECOND_US).replies, [{ command: parked.command, body: { run: null, exit: true } }]);
});

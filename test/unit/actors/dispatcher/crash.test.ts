/** Crashes and reruns, late runs, downstream runs. */
import t from "tap";
import { Turn } from "#actors/core/turn";
import { createRun } from "#actors/dispatcher/creation/create-run";
import { Outbox } from "#runtime/effect";
import { eventNames, operations } from "../../../support/decision-record.ts";
import { DispatchKit, START_US } from "../../../support/dispatch-kit.ts";
import { create, createId, move, poll, reportTasks, startRun, workOf } from "../../../support/dispatch-steps.ts";

const SECOND_US = 1_000_000;

function gone(kit: DispatchKit, engine_id = "e1", cause: string | null = null) {
  return kit.tell({ kind: "EngineGone", engine_id, cause });
}

t.test("a run whose engine has gone is Crashed and runs again after the pause", async (t) => {
  const kit = new DispatchKit();
  const parameter_schema = { type: "object", properties: { n: { type: "integer" } } };
  const id = startRun(kit, "e1", {
    name: "job-7",
    tags: ["a"],
    parameter_schema,
    parameters: { n: 4 },
    options: { priority: 3 },
  });
  const crashed = gone(kit);
  t.match(kit.run(id).state, { type: "Crashed", message: "engine process exited unexpectedly" });
  t.same(eventNames(crashed), ["run.crashed"]);
  t.match(operations(crashed, "put_rerun"), [{ run_id: id, due: kit.nowUs + 10 * SECOND_US }]);
  t.equal(kit.state.engines.has("e1"), false);
  t.same(operations(kit.pass(10 * SECOND_US - 1), "insert_run"), []);
  const again = kit.pass(1);
  t.match(operations(again, "delete_rerun"), [{ run_id: id }]);
  t.match(operations(again, "insert_run"), [
    {
      name: "job-retry-1",
      attempt: 1,
      parent_run_id: id,
      created_by: `crash:${id}`,
      parameters: '{"n":4}',
      tags: '["a"]',
      priority: 3,
      scheduled_time: null,
      state_type: "Scheduled",
    },
  ]);
  t.equal(kit.run(id).state.type, "Crashed", "the crashed run stays");
  t.same(operations(kit.pass(60 * SECOND_US), "insert_run"), [], "once");
});

t.test("task runs that were under way end with a run that the server ends; those that had ended stay", async (t) => {
  for (const [asked, type, message, events] of [
    [null, "Crashed", "engine process exited unexpectedly", ["run.crashed"]],
    ["Cancelling", "Cancelled", "cancelled", ["task_run.cancelled", "task_run.cancelled", "run.cancelled"]],
  ] as const) {
    const kit = new DispatchKit();
    const id = startRun(kit);
    reportTasks(kit, id, ["Completed", "Running", null]);
    if (asked !== null) move(kit, id, asked);
    kit.nowUs += SECOND_US;
    const outcome = gone(kit);
    const [completed, running, made] = [...kit.run(id).tasks.values()];
    t.match(completed?.state, { type: "Completed" });
    for (const task of [running, made])
      t.match(task, { state: { type, name: type, message, timestamp: kit.nowUs }, end_time: kit.nowUs });
    t.equal(running?.total_run_time, SECOND_US);
    t.strictSame(kit.run(id).taskCounts, { Completed: 1, [type]: 2 });
    t.equal(operations(outcome, "put_task_run").length, 2);
    t.same(eventNames(outcome), events);
  }
});

t.test("the cause is told where it is known", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit);
  gone(kit, "e1", "the engine could not be started: ENOENT");
  t.equal(kit.run(id).state.message, "the engine could not be started: ENOENT");
});

t.test("the last state of a run whose engine died says why, in words and as data, also at the limit", async (t) => {
  for (const [crash_retries, state] of [
    [1, { type: "Crashed", message: "it was killed", details: { signal: "SIGKILL" } }],
    [
      0,
      { type: "Failed", message: "crash limit reached: it was killed", details: { signal: "SIGKILL", crash: "it was killed" } },
    ],
  ] as const) {
    const kit = new DispatchKit();
    const id = startRun(kit, "e1", { options: { crash_retries } });
    kit.tell({ kind: "EngineGone", engine_id: "e1", cause: "it was killed", details: { signal: "SIGKILL" } });
    t.match(kit.run(id).state, state);
  }
});

t.test("a run that was only taken, or is Pending, crashes as well; a paused one does not", async (t) => {
  for (const [type, end] of [
    [null, "Crashed"],
    ["Pending", "Crashed"],
    ["Paused", "Paused"],
  ]) {
    const kit = new DispatchKit();
    const id = createId(kit);
    poll(kit, "e1");
    if (type === "Paused") move(kit, id, "Running");
    if (typeof type === "string") move(kit, id, type);
    gone(kit);
    t.equal(kit.run(id).state.type, end, String(type));
  }
});

t.test("a run that its engine goes on with, although a person paused it or moved it back, ends with the engine", async (t) => {
  for (const type of ["Paused", "Scheduled"]) {
    const kit = new DispatchKit();
    const id = startRun(kit);
    // Forced to Scheduled, the run is taken from its engine.
    kit.send("TransitionRun", { target: id, body: { type, force: type === "Scheduled" } });
    t.equal(kit.run(id).assigned, false);
    move(kit, id, "Running");
    t.match(kit.run(id), { assigned: true, state: { type: "Running" } });
    gone(kit);
    t.equal(kit.run(id).state.type, "Crashed", type);
  }
});

t.test("a run that a person sets to Running without an engine stays as it is", async (t) => {
  const kit = new DispatchKit();
  const id = createId(kit);
  move(kit, id, "Running");
  t.match(kit.run(id), { assigned: false, state: { type: "Running" } });
});

t.test("the limit: of the flow, else the default; then the run has failed", async (t) => {
  for (const [options, settings, reruns] of [
    [{ crash_retries: 2 }, {}, 2],
    [{}, { crashRetriesDefault: 1 }, 1],
    [{ crash_retries: 0 }, {}, 0],
  ] as const) {
    const kit = new DispatchKit({ settings: { rerunDelaySeconds: [0, 0], ...settings } });
    create(kit, { options, name: "x" });
    for (let attempt = 0; attempt <= reruns; attempt += 1) {
      const engine = `e${attempt}`;
      t.equal(workOf(poll(kit, engine))?.["run_name"], attempt === 0 ? "x" : `x-retry-${attempt}`);
      gone(kit, engine);
      kit.pass(SECOND_US);
    }
    const last = kit.run(reruns + 1);
    t.match(last, {
      state: {
        type: "Failed",
        message: "crash limit reached: engine process exited unexpectedly",
        details: { crash: "engine process exited unexpectedly" },
      },
      attempt: reruns,
      failure_count: 1,
    });
    t.equal(kit.state.runs.size, 0, "no further rerun");
  }
});

/** Takes a run that an engine holds through one retry. */
function retry(kit: DispatchKit, id: number): void {
  move(kit, id, "Scheduled", { name: "AwaitingRetry", message: "no", details: { delay: 60 } });
  kit.pass(2 * SECOND_US);
  move(kit, id, "Running", { name: "Retrying" });
}

t.test("attempts are counted over retries and reruns; the crash limit counts reruns alone", async (t) => {
  const kit = new DispatchKit({ settings: { rerunDelaySeconds: [0, 0] } });
  const id = startRun(kit, "e1", { name: "job-7", options: { retries: 3, crash_retries: 1 } });
  t.equal(kit.run(id).attempt, 0);
  retry(kit, id);
  retry(kit, id);
  t.match(kit.run(id), { attempt: 2, reruns: 0, failure_count: 2 });
  gone(kit);
  t.match(kit.run(id), { state: { type: "Crashed" }, attempt: 2 }, "two retries are no reruns: there is one to come");
  const again = kit.pass(SECOND_US);
  t.match(operations(again, "insert_run"), [{ name: "job-retry-1", attempt: 3, reruns: 1 }]);
  const second = Number(workOf(poll(kit, "e2"))?.["run_id"]);
  move(kit, second, "Pending");
  move(kit, second, "Running");
  retry(kit, second);
  t.match(kit.run(second), { attempt: 4, reruns: 1 });
  const retried = move(kit, second, "Failed");
  t.match(operations(retried, "update_run"), [{ attempt: 4 }], "stored with the state");
  t.match(kit.send("RetryRun", { target: second }).reply?.body, { name: "job-retry-2", attempt: 0 }, "a new run begins at 0");
  for (const engine of ["e3", "e4"]) {
    t.equal(workOf(poll(kit, engine))?.["flow"], "job");
    gone(kit, engine);
    kit.pass(SECOND_US);
  }
  t.match(kit.run(second + 2), { state: { message: /^crash limit reached/ }, attempt: 1, reruns: 1 });
});

t.test("all runs of an engine end with it; what they held is free", async (t) => {
  const kit = new DispatchKit();
  startRun(kit, "e1", { options: { resources: { db: 1 } } });
  const next = createId(kit);
  const parked = poll(kit, "e2");
  t.equal(workOf(gone(kit), parked.command)?.["run_id"], next);
});

t.test("crash hooks are given to an engine of the flow before runs, once", async (t) => {
  const kit = new DispatchKit({ settings: { rerunDelaySeconds: [0, 0] } });
  const id = startRun(kit, "e1", { options: { has_crash_hooks: true } });
  gone(kit);
  kit.pass(SECOND_US);
  const hooks = workOf(poll(kit, "e2"));
  t.match(hooks, { kind: "hooks", run_id: id, payload: { kind: "hooks", run_id: id, state: "Crashed" } });
  t.match(workOf(poll(kit, "e2")), { kind: "run", run_name: /-retry-1$/ });
  const parkedKit = new DispatchKit();
  const other = startRun(parkedKit, "e1", { options: { has_crash_hooks: true } });
  const parked = poll(parkedKit, "e2");
  t.match(workOf(gone(parkedKit), parked.command), { kind: "hooks", run_id: other }, "a parked engine gets it at once");
});

t.test(
  "a run that crashes again before the rerun of its first crash is due is repeated once, after the second crash",
  async (t) => {
    const kit = new DispatchKit({ settings: { rerunDelaySeconds: [10, 10] } });
    const id = startRun(kit);
    gone(kit);
    kit.pass(4 * SECOND_US);
    move(kit, id, "Scheduled", { force: true });
    t.equal(workOf(poll(kit, "e2"))?.["run_id"], id);
    gone(kit, "e2");
    t.equal(kit.run(id).state.type, "Crashed");
    t.same(operations(kit.pass(6 * SECOND_US), "insert_run"), [], "the first crash was undone");
    t.match(operations(kit.pass(4 * SECOND_US), "insert_run"), [{ created_by: `crash:${id}` }]);
    t.same(operations(kit.pass(60 * SECOND_US), "insert_run"), []);
  },
);

t.test("a stopping server leaves the rerun to the next one", async (t) => {
  const kit = new DispatchKit();
  startRun(kit);
  gone(kit);
  kit.tell({ kind: "StopWork" });
  const later = kit.pass(60 * SECOND_US);
  t.same(operations(later, "delete_rerun"), []);
  t.same(operations(later, "insert_run"), []);
});

t.test("a crashed run that was forced to another state is not run again", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit);
  gone(kit);
  move(kit, id, "Completed", { force: true });
  t.same(operations(kit.pass(60 * SECOND_US), "insert_run"), []);
});

/** A run with a scheduled time, like those of schedules. */
function scheduleRun(kit: DispatchKit, scheduledTime: number): number {
  createId(kit, { flow: "timed", module: "none.py" });
  const flow = kit.state.flowByName("shop", "timed");
  if (flow === undefined) throw new Error("no flow");
  flow.module = "jobs.py";
  const ids = { uuid: () => "00000000-0000-7000-8000-0000000000ff", random: () => 0 };
  const turn = new Turn(kit.state, kit.nowUs, ids, new Outbox(), kit.turn + 1);
  const made = createRun(turn, flow, { name: "timed", parametersText: "{}", tags: [], createdBy: "schedule", scheduledTime });
  turn.finish();
  kit.tell({ kind: "CapacityFreed", resources: [] });
  return made.id;
}

t.test("a run before its time is not handed out; at its time a parked engine gets it", async (t) => {
  const kit = new DispatchKit();
  const dueUs = START_US + 10 * SECOND_US;
  const id = scheduleRun(kit, dueUs);
  const parked = poll(kit, "e1");
  t.same(kit.pass(10 * SECOND_US - 1).replies, []);
  t.equal(workOf(kit.pass(1), parked.command)?.["run_id"], id);
});

t.test("a run that has not started 15 s after its time is Late, once, in one event", async (t) => {
  const kit = new DispatchKit();
  const dueUs = START_US + 10 * SECOND_US;
  const id = scheduleRun(kit, dueUs);
  kit.pass(25 * SECOND_US - 1);
  t.equal(kit.run(id).state.name, "Scheduled");
  const late = kit.pass(1);
  t.equal(kit.run(id).state.name, "Late");
  t.same(eventNames(late), ["run.late"]);
  t.equal(operations(late, "insert_event")[0]?.["payload"], JSON.stringify({ scheduled_time: dueUs, name: "timed" }));
  t.same(eventNames(kit.pass(100 * SECOND_US)), []);
  t.equal(workOf(poll(kit, "e1"))?.["run_id"], id);
});

t.test("a run that was forced to Scheduled stays with the engine that got it when it becomes Late", async (t) => {
  const kit = new DispatchKit();
  const dueUs = START_US + SECOND_US;
  const id = scheduleRun(kit, dueUs);
  kit.pass(SECOND_US);
  t.equal(move(kit, id, "Scheduled", { force: true, name: "Scheduled" }).reply?.status, 200);
  kit.pass(14 * SECOND_US);
  t.equal(workOf(poll(kit, "e1"))?.["run_id"], id);
  const lease = kit.run(id).assignment_id;
  t.same(eventNames(kit.pass(SECOND_US)), ["run.late"]);
  t.match(kit.run(id), { assigned: true, state: { name: "Late" } });
  t.equal(move(kit, id, "Pending", { lease }).reply?.status, 200);
});

t.test("only force takes a run from its engine, not details that claim it", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit);
  const more = { name: "AwaitingRetry", details: { forced: true, delay: 20 } };
  t.equal(move(kit, id, "Scheduled", more).reply?.status, 200);
  t.match(kit.run(id), { assigned: true, place: "none" });
  move(kit, id, "Scheduled", { force: true });
  t.match(kit.run(id), { assigned: false, place: "ready" });
});

t.test("a run that has started is never Late: it waits for its own retry, or to go on after an answer", async (t) => {
  const kit = new DispatchKit();
  const dueUs = START_US + SECOND_US;
  const id = scheduleRun(kit, dueUs);
  kit.pass(SECOND_US);
  poll(kit, "e1");
  move(kit, id, "Pending");
  move(kit, id, "Running");
  move(kit, id, "Scheduled", { name: "AwaitingRetry", message: "no", details: { delay: 20 } });
  t.same(eventNames(kit.pass(100 * SECOND_US)), []);
  t.equal(kit.run(id).state.name, "AwaitingRetry");
});

t.test("a run without a scheduled time is never Late; one that started in time neither", async (t) => {
  const kit = new DispatchKit();
  const plain = createId(kit, { module: "untimed.py" });
  const timed = scheduleRun(kit, START_US + SECOND_US);
  kit.pass(2 * SECOND_US);
  poll(kit, "e1");
  move(kit, timed, "Pending");
  kit.pass(100 * SECOND_US);
  t.equal(kit.run(plain).state.name, "Scheduled");
  t.equal(kit.run(timed).state.name, "Pending");
});

const AFTER = { after: { flow: "job", parameters: { source: "{{ run.id }}", who: "{{ run.name }}", text: "id {{ run.id }}" } } };
const DOWNSTREAM_SCHEMA = {
  type: "object",
  properties: { n: { type: "integer" }, source: {}, who: {}, text: {}, filled: { type: "integer", default: 9 } },
};

t.test("the completion of an upstream creates its downstream runs with its values", async (t) => {
  const kit = new DispatchKit();
  createId(kit, { flow: "down", module: "down.py", options: { ...AFTER, priority: 4 }, parameter_schema: DOWNSTREAM_SCHEMA });
  const parameter_schema = { type: "object", properties: { n: { type: "integer" }, secret: { type: "string" } } };
  const id = startRun(kit, "e1", { name: "up", parameter_schema, parameters: { n: 5, secret: "s" } });
  const done = move(kit, id, "Completed");
  t.match(operations(done, "insert_run"), [
    { name: "down-after-up", created_by: `run:${id}`, parent_run_id: null, priority: 4, tags: null },
  ]);
  t.same(JSON.parse(String(operations(done, "insert_run")[0]?.["parameters"])), {
    n: 5,
    source: id,
    who: "up",
    text: "id {{ run.id }}",
    filled: 9,
  });
});

t.test(
  "downstream: a skipped upstream counts, a failed one does not, another project or a broken flow is left out",
  async (t) => {
    const kit = new DispatchKit();
    createId(kit, { flow: "down", module: "down.py", options: AFTER, parameter_schema: DOWNSTREAM_SCHEMA });
    createId(kit, { flow: "down", project: "elsewhere", module: "down.py", options: AFTER, parameter_schema: DOWNSTREAM_SCHEMA });
    const made = (outcome: ReturnType<typeof move>) => operations(outcome, "insert_run").length;
    t.equal(made(move(kit, createId(kit), "Failed")), 0);
    t.equal(made(move(kit, createId(kit), "Completed", { name: "Skipped" })), 1);
    const broken = kit.state.flowByName("shop", "down");
    if (broken !== undefined) broken.error = "import failed";
    t.equal(made(move(kit, createId(kit), "Completed")), 0);
  },
);

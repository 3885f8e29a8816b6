import t from "tap";
import { ARTIFACT_BYTES_MAX } from "#protocol/limits";
import { eventNames, operations } from "../../../support/decision-record.ts";
import { DispatchKit, START_US } from "../../../support/dispatch-kit.ts";
import { createId, move, poll, report, startRun, workOf } from "../../../support/dispatch-steps.ts";

const TASK = "11111111-1111-7111-8111-111111111111";
const OTHER_TASK = "22222222-2222-7222-8222-222222222222";

const created = (seq: number, external_id = TASK, dynamic_key = "add-0") => ({
  kind: "task_run_created",
  seq,
  external_id,
  name: "add",
  task_key: "add",
  dynamic_key,
});
const moved = (seq: number, type: string, timestamp = START_US + seq, external_id = TASK) => ({
  kind: "task_run_transition",
  seq,
  external_id,
  state: { type, name: type, message: null, details: {}, timestamp },
});
const line = (run_id: number, message: string, level = 20) => ({
  run_id,
  task_run_external_id: TASK,
  level,
  logger: "job",
  timestamp: START_US,
  message,
});
const logs = (seq: number, ...lines: unknown[]) => ({ kind: "logs", seq, logs: lines });

t.test("a report of every kind is applied in one decision", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  const outcome = report(kit, run, [
    created(1),
    moved(2, "Pending"),
    moved(3, "Running"),
    logs(4, line(run, "one"), line(run, "two", 40)),
    { kind: "custom", seq: 5, name: "sold", payload: { b: 1, a: 2 }, task_run_external_id: TASK },
    {
      kind: "artifact",
      seq: 6,
      external_id: OTHER_TASK,
      artifact_kind: "table",
      key: "k",
      data: [1],
      task_run_external_id: TASK,
    },
    moved(7, "Completed"),
  ]);
  t.same(outcome.reply?.body, { applied: 7, skipped: 0, last_seq: 7, cancel: false });
  const task = operations(outcome, "put_task_run");
  t.equal(task.length, 1, "one row however often it moved");
  t.match(task, [{ state_type: "Completed", start_time: START_US + 3, end_time: START_US + 7, total_run_time: 4 }]);
  t.same(eventNames(outcome), ["task_run.running", "sold", "task_run.completed"]);
  t.match(outcome.logs, [
    {
      run_id: run,
      lines: [
        [1, 20, "job", START_US, "one"],
        [1, 40, "job", START_US, "two"],
      ],
    },
  ]);
  t.match(operations(outcome, "put_artifact"), [{ run_id: run, kind: "table", key: "k", data: "[1]", task_run_id: 1 }]);
  t.equal(operations(outcome, "insert_event")[1]?.["payload"], '{"a":2,"b":1}');
  t.match(operations(outcome, "update_run"), [{ report_seq: 7 }]);
  const body = move(kit, run, "Completed").reply?.body;
  t.match(body, { report_seq: 7, task_counts: { Completed: 1 } });
});

t.test(
  "a lease that was never handed out takes no effect: reports under such share one sequence, like those of strangers",
  async (t) => {
    const kit = new DispatchKit();
    const run = startRun(kit);
    report(kit, run, [created(1)]);
    const before = kit.run(run).otherSequences.size;
    for (let lease = 1_000; lease < 1_200; lease += 1) {
      const outcome = report(kit, run, [logs(2 * lease, line(run, "x")), moved(2 * lease + 1, "Running")], { lease });
      t.match(outcome.reply, { status: 200, body: { applied: 1 } });
      t.same(operations(outcome, "put_task_run"), [], "no state");
    }
    t.equal(kit.run(run).otherSequences.size, before + 1, "one sequence for all");
    t.match(report(kit, run, [logs(5, line(run, "y"))], { lease: 77 }).reply, { body: { applied: 0, skipped: 1 } });
  },
);

t.test("a lease that was handed out and is over keeps its own sequence, also when nothing was reported under it", async (t) => {
  const kit = new DispatchKit();
  const run = createId(kit);
  const ours = { pid: 2000, owns_stop: true };
  const first = poll(kit, "e1", ours);
  kit.notice("Undelivered", first.command);
  const lease = Number(workOf(first)?.["lease"]);
  t.equal(workOf(poll(kit, "e2", { ...ours, pid: 2001 }))?.["run_id"], run);
  report(kit, run, [logs(9, line(run, "of a stranger"))], { lease: 500, engine_id: "stranger" });
  t.match(report(kit, run, [logs(1, line(run, "late"))], { lease }).reply, { body: { applied: 1, skipped: 0 } });
});

t.test("report numbers of assignments are forgotten, the oldest first, when a run was handed out very often", async (t) => {
  const kit = new DispatchKit();
  const run = createId(kit);
  for (let count = 0; count < 200; count += 1) kit.notice("Undelivered", poll(kit, `e${count}`, { pid: 2000 + count }).command);
  t.equal(kit.run(run).otherSequences.size, 100);
  t.ok(kit.run(run).otherSequences.has("e198"));
  t.notOk(kit.run(run).otherSequences.has("e1"));
});

t.test("the same report again changes nothing; gaps are fine", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  const events = [created(3), moved(10, "Pending"), logs(12, line(run, "x"))];
  t.same(report(kit, run, events).reply?.body, { applied: 3, skipped: 0, last_seq: 12, cancel: false });
  const again = report(kit, run, events);
  t.same(again.reply?.body, { applied: 0, skipped: 3, last_seq: 12, cancel: false });
  t.equal(again.ops.length + again.logs.length + again.stream.length, 0);
  const overlapping = report(kit, run, [...events, moved(13, "Running")]);
  t.same(overlapping.reply?.body, { applied: 1, skipped: 3, last_seq: 13, cancel: false });
  t.same(report(kit, run, []).reply?.body, { applied: 0, skipped: 0, last_seq: 13, cancel: false });
});

t.test("one malformed event refuses the whole report", async (t) => {
  for (const wrong of [
    { kind: "unknown", seq: 2 },
    { ...created(2), external_id: "no-uuid" },
    { ...moved(2, "Pending"), state: { type: "Sleeping", timestamp: 1 } },
    { kind: "logs", seq: 2 },
    { kind: "custom", name: "x" },
  ]) {
    const kit = new DispatchKit();
    const run = startRun(kit);
    const outcome = report(kit, run, [created(1), wrong]);
    t.equal(outcome.reply?.status, 422, JSON.stringify(wrong));
    t.equal(outcome.ops.length, 0);
    t.equal(kit.run(run).tasks.size, 0);
    t.equal(kit.run(run).report_seq, 0);
  }
  const kit = new DispatchKit();
  t.equal(kit.send("Report", { body: "[" }).reply?.status, 400);
  t.equal(report(kit, 9, []).reply?.status, 404);
});

t.test("numbers start again with each assignment; late reports of the former engine keep their own", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  report(kit, run, [created(1), logs(2, line(run, "first"))]);
  move(kit, run, "Paused");
  kit.send("ResumeRun", { target: run, body: { input: 1 } });
  t.equal(workOf(poll(kit, "e2"))?.["run_id"], run);
  const second = report(kit, run, [logs(1, line(run, "second"))], { engine_id: "e2" });
  t.same(second.reply?.body, { applied: 1, skipped: 0, last_seq: 1, cancel: false });
  const late = report(kit, run, [logs(2, line(run, "again")), logs(3, line(run, "late"))]);
  t.same(late.reply?.body, { applied: 1, skipped: 1, last_seq: 3, cancel: false });
  t.same(
    late.logs[0]?.lines.map((sent) => sent[4]),
    ["late"],
  );
  t.equal(kit.run(run).report_seq, 1, "the run shows the engine that holds it");
  t.match(operations(late, "update_run"), [{ report_seq: 1, other_sequences: '{"e1":3,"#1":2}' }]);
});

t.test("the same engine starts at one again as well", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  report(kit, run, [created(1), moved(2, "Pending")]);
  move(kit, run, "Paused");
  kit.send("ResumeRun", { target: run, body: { input: 1 } });
  poll(kit, "e1");
  t.match(report(kit, run, [created(1, OTHER_TASK)]).reply?.body, { applied: 1, last_seq: 1 });
  t.equal(kit.run(run).tasks.size, 2, "the same dynamic_key under another id is another task run");
});

t.test("engines that never held the run share one sequence", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  t.match(report(kit, run, [logs(5, line(run, "a"))], { engine_id: "x" }).reply?.body, { applied: 1, last_seq: 5 });
  t.match(report(kit, run, [logs(5, line(run, "b"))], { engine_id: "y" }).reply?.body, { applied: 0, last_seq: 5 });
  t.match(report(kit, run, [logs(1, line(run, "c"))]).reply?.body, { applied: 1, last_seq: 1 }, "the engine's own is untouched");
});

t.test("a lease that is over moves nothing; its lines and events are kept", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit, "e1", {}, { owns_stop: true });
  const lease = kit.run(run).assignment_id;
  report(kit, run, [created(1)], { lease });
  move(kit, run, "Paused", { lease });
  kit.send("ResumeRun", { target: run, body: { input: 1 } });
  poll(kit, "e2", { owns_stop: true });
  const before = kit.run(run).state;
  const stale = report(
    kit,
    run,
    [created(2, OTHER_TASK), moved(3, "Pending"), logs(4, line(run, "late")), { kind: "custom", seq: 5, name: "late" }],
    { lease },
  );
  t.match(stale.reply, { status: 200, body: { applied: 2, last_seq: 5 } });
  t.equal(operations(stale, "put_task_run").length, 0);
  t.equal(kit.run(run).tasks.get(TASK)?.state, null);
  t.equal(stale.logs.length, 1);
  t.same(eventNames(stale), ["late"]);
  t.equal(kit.run(run).acknowledged, false, "it is no sign of life of the engine that holds the run");
  t.equal(kit.run(run).state, before);
  t.match(kit.send("Heartbeat", { body: { engine_id: "e1", run_id: run, lease } }).reply?.body, { active: false });
  const refused = move(kit, run, "Completed", { lease });
  t.equal(refused.reply?.status, 409);
  const repeated = report(kit, run, [logs(4, line(run, "late"))], { lease });
  t.match(repeated.reply?.body, { applied: 0, skipped: 1, last_seq: 5 });
});

t.test("a report after the end of the run is taken", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  move(kit, run, "Completed");
  const late = report(kit, run, [logs(1, line(run, "bye"))]);
  t.match(late.reply, { status: 200, body: { applied: 1, cancel: false } });
  t.equal(late.logs.length, 1);
});

t.test("lines are kept under the run they name; unknown runs are left out", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  const other = createId(kit);
  const outcome = report(kit, run, [logs(1, line(other, "there"), line(run, "here"), line(999, "nowhere"))]);
  t.same(
    outcome.logs.map(({ run_id, lines }) => [run_id, lines.map((sent) => sent[4])]),
    [
      [other, ["there"]],
      [run, ["here"]],
    ],
  );
  t.equal(outcome.stream.filter(({ kind }) => kind === "log.appended").length, 2);
});

t.test("an artifact under the same id is replaced in place; a known task run again is harmless", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  const artifact = (seq: number, data: unknown) => ({
    kind: "artifact",
    seq,
    external_id: OTHER_TASK,
    artifact_kind: "json",
    data,
  });
  const first = report(kit, run, [created(1), artifact(2, 1)]);
  kit.pass(1_000_000);
  const second = report(kit, run, [created(3), artifact(4, 2)]);
  const [before, after] = [operations(first, "put_artifact")[0], operations(second, "put_artifact")[0]];
  t.equal(after?.["id"], before?.["id"]);
  t.equal(after?.["created_at"], before?.["created_at"]);
  t.equal(after?.["updated_at"], kit.nowUs);
  t.equal(kit.run(run).tasks.size, 1);
});

t.test("an artifact above the limit is left out and the log says so; the rest is taken", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  const artifact = (seq: number, bytes: number) => ({
    kind: "artifact",
    seq,
    external_id: seq === 1 ? TASK : OTHER_TASK,
    artifact_kind: "text",
    data: "x".repeat(bytes - 2),
  });
  const outcome = report(kit, run, [artifact(1, ARTIFACT_BYTES_MAX), artifact(2, ARTIFACT_BYTES_MAX + 1), created(3)]);
  t.match(outcome.reply?.body, { applied: 3, last_seq: 3 });
  t.equal(operations(outcome, "put_artifact").length, 1);
  t.match(outcome.logs[0]?.lines[0]?.[4], /exceeds 1 MB/);
  t.equal(operations(outcome, "put_task_run").length, 1);
});

t.test(
  "a custom event that only the server may record is skipped, its number is consumed and the run's log says so",
  async (t) => {
    const kit = new DispatchKit();
    const run = startRun(kit);
    const names = ["run.completed", " rule.fired", "run.nonsense", "", " ", "n".repeat(1_001), "order.paid"];
    const outcome = report(
      kit,
      run,
      names.map((name, at) => ({ kind: "custom", seq: at + 1, name })),
    );
    t.same(outcome.reply?.body, { applied: 1, skipped: 6, last_seq: 7, cancel: false });
    t.same(eventNames(outcome), ["order.paid"]);
    const warnings = (outcome.logs[0]?.lines ?? []).map(([, level, , , text]) => [level, text]);
    t.equal(warnings.length, 6);
    t.match(warnings, [
      [30, 'an event was not recorded: event name "run.completed": only the server records events under "run."'],
      [30, /"rule.fired"/],
      [30, /"run.nonsense"/],
      [30, "an event was not recorded: event name is required"],
      [30, /name is required/],
      [30, /at most 1000 characters$/],
    ]);
  },
);

t.test("a move of an unknown task run is skipped, its number is consumed", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  t.same(report(kit, run, [moved(1, "Pending"), created(2)]).reply?.body, { applied: 1, skipped: 1, last_seq: 2, cancel: false });
});

t.test("heartbeats: active until the end, a paused run counts, an unknown one does not; nothing is written", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  const beat = (run_id: number) => kit.send("Heartbeat", { body: { engine_id: "e1", run_id } });
  t.same(beat(run).reply?.body, { cancel: false, active: true });
  t.equal(beat(run).ops.length, 0);
  move(kit, run, "Paused");
  t.same(beat(run).reply?.body, { cancel: false, active: true });
  move(kit, run, "Cancelled");
  t.same(beat(run).reply?.body, { cancel: false, active: false });
  t.same(beat(77).reply?.body, { cancel: false, active: false });
});

t.test("an engine learns by its lease that its run was paused by hand", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit, "e1", {}, { owns_stop: true });
  const beat = () => kit.send("Heartbeat", { body: { engine_id: "e1", run_id: run, lease: kit.run(run).assignment_id } });
  t.match(beat().reply?.body, { active: true });
  move(kit, run, "Paused");
  t.match(beat().reply?.body, { cancel: false, active: false });
});

t.test("a module that cannot be loaded fails what is queued for exactly its key", async (t) => {
  const kit = new DispatchKit();
  const queued = createId(kit);
  const running = startRun(kit, "e1", { flow: "started", options: { priority: 9 } });
  const elsewhere = createId(kit, { flow: "far", module: "far.py" });
  const nicer = createId(kit, { flow: "nicer", options: { priority: -5 } });
  const body = { engine_id: "e9", source_dir: "/flows", module: "jobs.py", traceback: "Traceback\n  line\nBoom: no\n\n" };
  const outcome = kit.send("EngineFailed", { body });
  t.same(outcome.reply?.body, { failed_runs: [queued] });
  t.match(kit.run(queued).state, { type: "Failed", message: "Boom: no", details: { forced: true, traceback: body.traceback } });
  t.equal(kit.run(running).state.type, "Running");
  t.equal(kit.run(elsewhere).state.type, "Scheduled");
  t.equal(kit.run(nicer).state.type, "Scheduled");
  t.equal(kit.state.flowByName("shop", "job")?.error, "Boom: no");
  const unnamed = kit.send("EngineFailed", { body: { ...body, nice: 5, traceback: " \n" } });
  t.same(unnamed.reply?.body, { failed_runs: [nicer] });
  t.equal(kit.run(nicer).state.message, "import failed");
  createId(kit);
  t.equal(kit.state.flowByName("shop", "job")?.error, null, "cleared by the next registration");
});

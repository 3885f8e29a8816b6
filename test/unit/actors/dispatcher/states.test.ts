/** The state table, cell by cell, for runs and task runs (the table of the specification, written a second time). */
import t from "tap";
import { decideTransition } from "#actors/dispatcher/states/transition";
import { STATE_TYPES, type State, type StateType, SUB_STATES } from "#protocol/records/state";
import { eventNames, operations } from "../../../support/decision-record.ts";
import { DispatchKit, START_US } from "../../../support/dispatch-kit.ts";
import { createId, move, report, startRun } from "../../../support/dispatch-steps.ts";

const SECOND_US = 1_000_000;

/** One letter per cell: o ok, i invalid-entry, c cancelling, t terminal; columns in the order of STATE_TYPES. */
const TABLE: Record<StateType | "none", string> = {
  Scheduled: "oooooooio",
  Pending: "oioooooio",
  Running: "oiioooooo",
  Paused: "oioooooio",
  Cancelling: "ciiccocic",
  Completed: "ttttttttt",
  Failed: "ttttttttt",
  Cancelled: "ttttttttt",
  Crashed: "ttttttttt",
  none: "ooiooioio",
};

const REASONS: Record<string, string> = { i: "invalid-entry", c: "cancelling", t: "terminal" };

function stateOf(type: StateType, name: string = type, timestamp = START_US): State {
  return { type, name, timestamp, message: null, details: {} };
}

function reasonOf(current: State | null, type: StateType, nowUs: number, name: string = type): string {
  const decision = decideTransition(current, { type, name, timestamp: nowUs }, nowUs, false);
  return decision.accepted ? "ok" : decision.reason;
}

t.test("every cell of the table, long after the last move", async (t) => {
  for (const [from, row] of Object.entries(TABLE)) {
    for (const [column, to] of STATE_TYPES.entries()) {
      const current = from === "none" ? null : stateOf(from as StateType);
      const expected = REASONS[row[column] ?? ""] ?? "ok";
      t.equal(reasonOf(current, to, START_US + 5 * SECOND_US), expected, `${from} to ${to}`);
    }
  }
});

t.test("the same type and name within a second is a duplicate, a moment later it is judged by the table", async (t) => {
  for (const type of ["Scheduled", "Pending", "Running", "Paused", "Cancelling"] as const) {
    t.equal(reasonOf(stateOf(type), type, START_US + SECOND_US - 1), "duplicate", type);
    t.not(reasonOf(stateOf(type), type, START_US + SECOND_US), "duplicate", type);
    const cell = TABLE[type][STATE_TYPES.indexOf(type)] ?? "";
    t.equal(reasonOf(stateOf(type), type, START_US + 1, "other"), REASONS[cell] ?? "ok", `${type} under another name`);
  }
  t.equal(reasonOf(stateOf("Completed"), "Completed", START_US), "terminal", "ended comes before repeated");
});

t.test("a move that is forced is accepted in every cell and says so", async (t) => {
  for (const from of STATE_TYPES) {
    for (const to of STATE_TYPES) {
      const details = { why: "because" };
      const decision = decideTransition(stateOf(from), { type: to, timestamp: START_US, details }, START_US, true);
      t.ok(decision.accepted);
      if (decision.accepted) t.same(decision.state.details, { why: "because", forced: true });
    }
  }
});

t.test("the name of a sub-state decides the type, other names are kept, an empty name is the type's", async (t) => {
  for (const [name, type] of Object.entries(SUB_STATES)) {
    const decision = decideTransition(stateOf("Running"), { type: "Failed", name, timestamp: 1 }, START_US, true);
    t.match(decision, { accepted: true, state: { type, name } });
  }
  const free = decideTransition(stateOf("Running"), { type: "Completed", name: "Great", timestamp: 1 }, START_US, false);
  t.match(free, { state: { type: "Completed", name: "Great" } });
  const empty = decideTransition(stateOf("Running"), { type: "Completed", name: "", timestamp: 1 }, START_US, false);
  t.match(empty, { state: { type: "Completed", name: "Completed" } });
});

/** Creates a run and brings it into a state by allowed moves. */
function runIn(kit: DispatchKit, type: StateType): number {
  const run = createId(kit);
  const path: Record<StateType, StateType[]> = {
    Scheduled: [],
    Pending: ["Pending"],
    Running: ["Running"],
    Completed: ["Completed"],
    Failed: ["Failed"],
    Cancelled: ["Cancelled"],
    Crashed: ["Crashed"],
    Paused: ["Running", "Paused"],
    Cancelling: ["Cancelling"],
  };
  for (const step of path[type]) move(kit, run, step);
  return run;
}

t.test("runs: each cell over the command, with the answer it gives", async (t) => {
  for (const from of STATE_TYPES) {
    for (const [column, to] of STATE_TYPES.entries()) {
      const kit = new DispatchKit();
      const run = runIn(kit, from);
      const before = kit.run(run).state;
      kit.nowUs += 2 * SECOND_US;
      const outcome = move(kit, run, to);
      const reason = REASONS[TABLE[from][column] ?? ""];
      const label = `${from} to ${to}`;
      if (reason === undefined) {
        t.equal(outcome.reply?.status, 200, label);
        t.match(outcome.reply?.body, { state: { type: to, timestamp: kit.nowUs } }, label);
        t.equal(operations(outcome, "update_run")[0]?.["state_type"], to, label);
      } else {
        t.equal(outcome.reply?.status, 409, label);
        t.match(outcome.reply?.body, { reason, current: before }, label);
        t.equal(outcome.ops.length + outcome.stream.length, 0, `${label}: a refusal changes nothing`);
        t.equal(kit.run(run).state, before, label);
      }
    }
  }
});

t.test("task runs: each cell over a report; a refused move is consumed and changes nothing", async (t) => {
  for (const from of [...STATE_TYPES, "none"] as const) {
    for (const [column, to] of STATE_TYPES.entries()) {
      const kit = new DispatchKit();
      const run = startRun(kit);
      const external_id = "11111111-1111-7111-8111-111111111111";
      const created = { kind: "task_run_created", seq: 1, external_id, name: "t", task_key: "t", dynamic_key: "t-0" };
      const moved = (seq: number, type: StateType, force = false) => ({
        kind: "task_run_transition",
        seq,
        external_id,
        state: { type, name: type, timestamp: START_US + seq },
        force,
      });
      report(kit, run, from === "none" ? [created] : [created, moved(2, from, true)]);
      const before = kit.run(run).tasks.get(external_id)?.state;
      kit.nowUs += 2 * SECOND_US;
      const outcome = report(kit, run, [moved(3_000_000, to)]);
      const reason = REASONS[TABLE[from][column] ?? ""];
      t.match(outcome.reply, { status: 200, body: { applied: 1, skipped: 0, last_seq: 3_000_000 } });
      const after = kit.run(run).tasks.get(external_id)?.state;
      if (reason === undefined) t.equal(after?.type, to, `${from} to ${to}`);
      else t.equal(after, before, `${from} to ${to} is refused`);
      t.equal(operations(outcome, "put_task_run").length, reason === undefined ? 1 : 0);
    }
  }
});

t.test("times and counters follow the moves", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  const startedUs = kit.nowUs;
  kit.pass(SECOND_US);
  move(kit, run, "Scheduled", { name: "AwaitingRetry", message: "once more" });
  t.equal(kit.run(run).failure_count, 1, "a retry counts as a failure");
  kit.pass(SECOND_US);
  move(kit, run, "Running", { name: "Retrying" });
  t.equal(kit.run(run).start_time, startedUs, "kept on retries");
  kit.pass(SECOND_US);
  const failed = move(kit, run, "Failed");
  t.match(failed.reply?.body, { end_time: kit.nowUs, total_run_time: 3 * SECOND_US, failure_count: 2 });
  const revived = move(kit, run, "Running", { force: true });
  t.match(revived.reply?.body, { end_time: null, total_run_time: null, start_time: startedUs });
  const crashed = move(kit, run, "Crashed");
  t.match(crashed.reply?.body, { crash_count: 1 });
  const unstarted = createId(kit);
  t.match(move(kit, unstarted, "Failed").reply?.body, { total_run_time: null, end_time: kit.nowUs });
});

t.test("each move records the event of its state, and some states none", async (t) => {
  const expected: [string, string, string | null][] = [
    ["Scheduled", "Late", "run.late"],
    ["Scheduled", "AwaitingRetry", null],
    ["Scheduled", "AwaitingResource", null],
    ["Scheduled", "Resuming", "run.resumed"],
    ["Scheduled", "again", "run.scheduled"],
    ["Pending", "Pending", "run.pending"],
    ["Running", "Running", "run.running"],
    ["Running", "Retrying", "run.retrying"],
    ["Completed", "Completed", "run.completed"],
    ["Completed", "Great", "run.completed"],
    ["Completed", "Skipped", "run.skipped"],
    ["Failed", "Failed", "run.failed"],
    ["Failed", "TimedOut", "run.failed"],
    ["Cancelled", "Cancelled", "run.cancelled"],
    ["Crashed", "Crashed", "run.crashed"],
    ["Paused", "Paused", "run.paused"],
    ["Cancelling", "Cancelling", null],
    // The name of a state that durable runs have decides nothing with another type.
    ["Completed", "Sleeping", "run.completed"],
    ["Failed", "AwaitingEvent", "run.failed"],
    ["Cancelled", "AwaitingChild", "run.cancelled"],
    ["Completed", "Resuming", "run.completed"],
  ];
  for (const [type, name, event] of expected) {
    const kit = new DispatchKit();
    const run = createId(kit);
    kit.nowUs += 2 * SECOND_US;
    t.same(eventNames(move(kit, run, type, { name, force: true })), event === null ? [] : [event], `${type}/${name}`);
  }
});

t.test("names that objects inherit are free names like any other", async (t) => {
  for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
    const kit = new DispatchKit();
    const run = startRun(kit);
    const external_id = "11111111-1111-7111-8111-111111111111";
    const outcome = report(kit, run, [
      { kind: "task_run_created", seq: 1, external_id, name, task_key: name, dynamic_key: name },
      { kind: "task_run_transition", seq: 2, external_id, state: { type: "Failed", name, timestamp: START_US }, force: true },
    ]);
    for (const { name: event } of operations(outcome, "insert_event") as { name?: unknown }[]) t.type(event, "string");
    t.same(eventNames(move(kit, run, "Completed", { name })), ["run.completed"], name);
  }
});

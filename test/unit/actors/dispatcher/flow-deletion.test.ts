/** A flow with many runs is deleted in several steps: what each step deletes, and what the last one answers. */
import t from "tap";
import { type DecisionRecord, operations } from "../../../support/decision-record.ts";
import type { DispatchKit, Outcome } from "../../../support/dispatch-kit.ts";
import { createId, poll, startRun, workOf } from "../../../support/dispatch-steps.ts";
import { arm, parkOf, send, startDurable } from "../../../support/durable-steps.ts";
import type { Store } from "../../../support/storage-rows.ts";
import { storedKit } from "../../../support/stored-kit.ts";

const NEXT = { kind: "ContinueSlices" } as const;
const STEPS_MAX = 20;

function kitOf(): { kit: DispatchKit; store: Store } {
  return storedKit({ settings: { backfillSliceRuns: 4 } });
}

function ended(kit: DispatchKit, count: number): number[] {
  return Array.from({ length: count }, () => {
    const id = createId(kit);
    kit.send("CancelRun", { target: id });
    return id;
  });
}

const deleted = (outcome: DecisionRecord): number[] => operations(outcome, "delete_run").map(({ id }) => Number(id));

/** Runs the next steps of a deletion up to its answer. */
function untilAnswered(kit: DispatchKit, command: number): Outcome[] {
  const steps: Outcome[] = [];
  while (steps.length < STEPS_MAX) {
    const step = kit.tell(NEXT);
    steps.push(step);
    if (step.replies.some((reply) => reply.command === command)) return steps;
  }
  throw new Error(`no answer within ${STEPS_MAX} steps`);
}

function storedRuns({ database }: Store): number[] {
  return (database.prepare("SELECT id FROM runs ORDER BY id").all() as { id: number }[]).map(({ id }) => id);
}

t.test("runs go some at a time; what engines execute, and the flow, go with the last step, which answers", async (t) => {
  const { kit, store } = kitOf();
  const running = startRun(kit, "e1");
  const over = ended(kit, 6);
  const waiting = [createId(kit), createId(kit), createId(kit)];
  const other = createId(kit, { flow: "other" });
  const first = kit.send("DeleteFlow", { target: 1 });
  t.equal(first.reply, null);
  t.same(deleted(first), over.slice(0, 4));
  t.ok(first.stream.some(({ kind, id }) => kind === "run.deleted" && id === over[0]));
  t.same(storedRuns(store), [running, ...over.slice(4), ...waiting, other]);
  t.equal(kit.run(running).assigned, true);
  const steps = untilAnswered(kit, first.command);
  t.same(steps.map(deleted), [[...over.slice(4), ...waiting.slice(0, 2)], []]);
  t.match(steps.at(-1)?.replies, [{ command: first.command, status: 204 }]);
  t.same(storedRuns(store), [other]);
  t.same([...kit.state.runs.keys()], [other]);
  t.equal(kit.state.room.taken, 1);
});

t.test("a step waits for the commit of the one before", async (t) => {
  const { kit } = kitOf();
  ended(kit, 12);
  kit.committed = kit.turn;
  kit.send("DeleteFlow", { target: 1 });
  t.same(deleted(kit.tell(NEXT)), []);
  kit.committed = null;
  createId(kit, { flow: "other" });
  t.equal(deleted(kit.tell(NEXT)).length, 4);
});

t.test("a second deletion on the way is answered with the last step, too", async (t) => {
  const { kit } = kitOf();
  ended(kit, 6);
  const asked = [kit.send("DeleteFlow", { target: 1 }).command, kit.send("DeleteFlow", { target: 1 }).command];
  t.match(
    untilAnswered(kit, asked[0] ?? 0).at(-1)?.replies,
    asked.map((command) => ({ command, status: 204 })),
  );
  t.equal(kit.send("DeleteFlow", { target: 1 }).reply?.status, 404);
});

t.test("no waiting run is handed out on the way, also when a run that was executed ends", async (t) => {
  const { kit } = kitOf();
  const running = startRun(kit, "e1", { options: { max_concurrent: 1 } });
  ended(kit, 6);
  const waiting = createId(kit);
  const parked = poll(kit, "e2");
  const first = kit.send("DeleteFlow", { target: 1 });
  const done = kit.send("CancelRun", { target: running, body: { force: true } });
  t.equal(workOf(done, parked.command), null);
  t.equal(kit.run(waiting).place, "none");
  for (const step of untilAnswered(kit, first.command)) t.equal(workOf(step, parked.command), null);
});

t.test("a flow that is registered on the way stays with the runs that are left, and they are handed out", async (t) => {
  const { kit, store } = kitOf();
  const over = ended(kit, 6);
  const waiting = createId(kit);
  const first = kit.send("DeleteFlow", { target: 1 });
  const flow = kit.state.flows.get(1);
  if (flow !== undefined) flow.live = true;
  const [step] = untilAnswered(kit, first.command);
  t.match(step?.replies, [{ status: 409 }]);
  t.same(storedRuns(store), [...over.slice(4), waiting]);
  t.equal(workOf(poll(kit, "e1"))?.["run_id"], waiting);
});

t.test("parked runs come back into memory some at a time", async (t) => {
  const { kit, store } = kitOf();
  for (let count = 0; count < 10; count += 1) {
    const held = startDurable(kit, {}, `e${count}`);
    arm(kit, held, [{ wait: 1, kind: "sleep", delay: 600 }]);
    send(kit, held, [parkOf(kit, 3, [1])]);
  }
  kit.pass(1_000_000);
  t.equal([...kit.state.parked.awayIds()].length, 10);
  const { command } = kit.send("DeleteFlow", { target: 1 });
  t.ok(kit.state.runs.size <= 1, "the slice and one more were recalled");
  untilAnswered(kit, command);
  t.same(storedRuns(store), []);
  t.same([...kit.state.parked.awayIds()], []);
  t.equal(kit.state.room.taken, 0);
  for (const table of ["waits", "parks", "steps"]) {
    t.equal((store.database.prepare(`SELECT count(*) AS rows FROM ${table}`).get() as { rows: number }).rows, 0, table);
  }
});

t.test("parked runs that were deleted do not count against the flow that is registered on the way", async (t) => {
  const { kit } = kitOf();
  for (let count = 0; count < 6; count += 1) {
    const held = startDurable(kit, {}, `e${count}`);
    arm(kit, held, [{ wait: 1, kind: "sleep", delay: 600 }]);
    send(kit, held, [parkOf(kit, 3, [1])]);
  }
  const flow = kit.state.flows.get(1);
  t.equal(flow?.away, 6);
  const { command } = kit.send("DeleteFlow", { target: 1 });
  if (flow !== undefined) flow.live = true;
  untilAnswered(kit, command);
  t.equal(flow?.away, 2);
});

t.test("resources that a parked run has kept are free once its flow is deleted", async (t) => {
  const { kit, store } = kitOf();
  const options = { resources: { gpu: 1 } };
  const held = startDurable(kit, { options });
  arm(kit, held, [{ wait: 1, kind: "sleep", delay: 600 }]);
  send(kit, held, [parkOf(kit, 3, [1], { hold: true })]);
  const other = createId(kit, { flow: "other", options });
  t.equal(workOf(poll(kit, "e2")), null);
  t.match(kit.send("DeleteFlow", { target: 1 }).reply, { status: 204 });
  t.equal(workOf(poll(kit, "e2"))?.["run_id"], other);
  t.same(store.database.prepare("SELECT run_id FROM leases").all(), [{ run_id: other }]);
});

t.test("the rerun of a crashed run does not come, and the runs of fires to come go with their schedule", async (t) => {
  const { kit, store } = kitOf();
  const crashed = startRun(kit, "e1");
  kit.tell({ kind: "EngineGone", engine_id: "e1", cause: null });
  ended(kit, 6);
  kit.send("CreateSchedule", { target: 1, body: { kind: "interval", interval: 3_600 } });
  const { command } = kit.send("DeleteFlow", { target: 1 });
  const held = [...kit.state.runs.values()].filter(({ schedule_id }) => schedule_id !== null);
  t.ok(held.length >= 3, "they are there until the last step");
  untilAnswered(kit, command);
  kit.pass(3_700_000_000);
  t.same(storedRuns(store), []);
  t.equal(kit.state.runs.size, 0);
  t.equal(kit.state.room.rerunDueUs(crashed), undefined);
  t.same(kit.state.schedules.all(), []);
});

t.test("schedules decide their fires until the flow is gone: a fire that is missed on the way is dropped", async (t) => {
  const { kit } = kitOf();
  ended(kit, 6);
  kit.send("CreateSchedule", { target: 1, body: { kind: "interval", interval: 86_400, catchup: "skip" } });
  const first = kit.send("DeleteFlow", { target: 1 });
  const [next] = [...kit.state.runs.values()].filter(({ schedule_id }) => schedule_id !== null);
  t.equal(next?.place, "future");
  kit.setClock(86_500_000_000);
  kit.pass(1_000_000);
  t.match(kit.state.findRun(next?.id ?? 0)?.state, { name: "Skipped", details: { reason: "catchup" } });
  const flow = kit.state.flows.get(1);
  if (flow !== undefined) flow.live = true;
  untilAnswered(kit, first.command);
  t.equal(workOf(poll(kit, "e1")), null, "the flow stays, and the missed fire does not run");
});

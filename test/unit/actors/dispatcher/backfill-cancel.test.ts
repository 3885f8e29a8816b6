/** A large backfill is cancelled in several steps; its runs wait for their step, and the answer for the last. */
import t from "tap";
import { type DecisionRecord, eventNames, operations } from "../../../support/decision-record.ts";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { createId, move, poll, workOf } from "../../../support/dispatch-steps.ts";

const SCHEMA = { type: "object", properties: { day: { type: "string", format: "date" } } };
const NEXT = { kind: "ContinueSlices" } as const;

/** A backfill of ten runs, 2 to 11, four of which are cancelled per step. */
function kitOf(body: Record<string, unknown> = {}): DispatchKit {
  const kit = new DispatchKit({ settings: { backfillSliceRuns: 4, backfillNearMax: 2 } });
  move(kit, createId(kit, { parameter_schema: SCHEMA, parameters: { day: "2026-02-01" } }), "Cancelled");
  kit.send("CreateBackfill", { target: 1, body: { parameter: "day", start: "2026-01-01", end: "2026-01-10", ...body } });
  kit.pass(0);
  return kit;
}

function cancelled(outcome: DecisionRecord): number[] {
  return operations(outcome, "update_run").flatMap((run) => (run["state_type"] === "Cancelled" ? [Number(run["id"])] : []));
}

function stored(outcome: DecisionRecord): unknown[] {
  return operations(outcome, "put_backfill").map((row) => [row["cancelled"], row["cancelled_through"]]);
}

t.test("each step ends the next runs, and the last one answers", async (t) => {
  const kit = kitOf();
  const first = kit.send("CancelBackfill", { target: 1 });
  t.same(cancelled(first), [2, 3, 4, 5]);
  t.same(stored(first), [[1, 5]]);
  t.equal(first.reply, null);
  t.ok(first.stream.some(({ kind, id }) => kind === "backfill.updated" && id === 1));
  t.equal(workOf(poll(kit, "e", { wait_ms: 0 })), null, "none of the others is handed out");
  t.match(kit.send("ExplainRun", { target: 9 }).reply?.body, {
    reason: { code: "held", object: "backfill:1", text: "its backfill is being cancelled" },
  });
  const second = kit.tell(NEXT);
  t.same(cancelled(second), [6, 7, 8, 9]);
  const last = kit.tell(NEXT);
  t.same(cancelled(last), [10, 11]);
  t.same(eventNames(last), ["run.cancelled", "run.cancelled"]);
  t.same(stored(last), [[1, null]]);
  t.match(last.replies, [{ command: first.command, status: 200, body: { cancelled: true, counts: { Cancelled: 10 } } }]);
  t.same(kit.tell(NEXT).ops, []);
  t.equal(kit.state.queue.waiting, 0);
});

t.test("the events of every step belong to the chain of rules that led to the cancel", async (t) => {
  const kit = kitOf();
  const chained = (outcome: DecisionRecord): unknown[] => operations(outcome, "put_event_chain").map(({ depth }) => depth);
  t.same(chained(kit.send("CancelBackfill", { target: 1, ruleDepth: 3 })), [3, 3, 3, 3]);
  t.same(chained(kit.tell(NEXT)), [3, 3, 3, 3]);
  t.same(chained(kit.tell(NEXT)), [3, 3]);
});

t.test("a step waits for the commit of the one before", async (t) => {
  const kit = kitOf();
  kit.committed = kit.turn;
  kit.send("CancelBackfill", { target: 1 });
  t.same(cancelled(kit.tell(NEXT)), []);
  kit.committed = null;
  t.same(cancelled(kit.tell(NEXT)), [6, 7, 8, 9]);
});

t.test("a second cancel during the slices is answered with the last step, too", async (t) => {
  const kit = kitOf();
  const asked = [kit.send("CancelBackfill", { target: 1 }).command, kit.send("CancelBackfill", { target: 1 }).command];
  kit.tell(NEXT);
  t.same(
    kit.tell(NEXT).replies.map(({ command }) => command),
    asked,
  );
});

t.test("what user code works on is asked to stop; nothing takes the place that is free then", async (t) => {
  const kit = kitOf({ concurrency: 2 });
  const id = Number(workOf(poll(kit, "e1"))?.["run_id"]);
  move(kit, id, "Running");
  const handed = Number(workOf(poll(kit, "e2"))?.["run_id"]);
  poll(kit, "e3");
  kit.send("CancelBackfill", { target: 1 });
  t.equal(kit.run(id).state.type, "Cancelling");
  t.equal(kit.run(handed).state.type, "Cancelled", "an engine that has not started it learns it by its first report");
  kit.tell(NEXT);
  t.match(kit.tell(NEXT).replies, [{ body: { counts: { Cancelled: 9, Cancelling: 1 } } }]);
});

t.test("a run brought back stays when the cancel has passed it, and is cancelled when not", async (t) => {
  const kit = kitOf();
  move(kit, 11, "Cancelled");
  kit.send("CancelBackfill", { target: 1 });
  for (const id of [2, 11]) move(kit, id, "Scheduled", { force: true });
  t.match([kit.run(2).place, kit.run(11).place], ["ready", "held"]);
  kit.tell(NEXT);
  t.match(kit.tell(NEXT).replies, [{ body: { counts: { Cancelled: 9, Scheduled: 1 } } }]);
  t.equal(kit.run(11).state.type, "Cancelled");
  t.equal(Number(workOf(poll(kit, "e"))?.["run_id"]), 2);
});

t.test("the flow may be deleted during the cancel", async (t) => {
  const kit = kitOf();
  const asked = kit.send("CancelBackfill", { target: 1 });
  kit.state.settings.backfillSliceRuns = 100;
  t.equal(kit.send("DeleteFlow", { target: 1 }).reply?.status, 204);
  t.match(kit.tell(NEXT).replies, [{ command: asked.command, status: 404, body: { error: "backfill 1 not found" } }]);
});

/** Child runs: created with their wait, and what their end and that of their caller mean. */
import t from "tap";
import { eventNames, operations } from "../../../support/decision-record.ts";
import type { DispatchKit, Outcome } from "../../../support/dispatch-kit.ts";
import { createId, move } from "../../../support/dispatch-steps.ts";
import { arm, type HeldRun, moveOf, parkOf, send, startDurable, takeRun } from "../../../support/durable-steps.ts";
import { storedKit } from "../../../support/stored-kit.ts";

const SECOND_US = 1_000_000;
const waitsOf = ({ reply }: Outcome) => (reply?.body["waits"] ?? []) as { id: number; child_run_id: number }[];

/** A run parked on a child of the flow "part". */
function calling(kit: DispatchKit, child: Record<string, unknown> = {}): { caller: HeldRun; childId: number } {
  const known = createId(kit, { flow: "part", options: { max_concurrent: 1, on_overlap: "skip" } });
  kit.send("CancelRun", { target: known });
  const caller = startDurable(kit);
  const armed = arm(kit, caller, [{ wait: 1, kind: "child", flow: "part", ...child }]);
  const [wait] = waitsOf(armed);
  send(kit, caller, [parkOf(kit, 3, [1])]);
  t.equal(kit.run(caller.id).state.name, "AwaitingChild");
  return { caller, childId: wait?.child_run_id ?? 0 };
}

t.test("a child is created once with its wait, and its end wakes the caller with the result", async (t) => {
  const { kit } = storedKit();
  const { caller, childId } = calling(kit, { tags: ["nightly"], priority: 3 });
  const child = kit.run(childId);
  t.match(child, { created_by: `run:${caller.id}`, priority: 3, parent_run_id: null });
  const held = takeRun(kit, "e2");
  t.equal(held.id, childId);
  const ended = send(kit, held, [moveOf(kit, 3, "Completed", { details: { result: 42 } })]);
  t.match(operations(ended, "settle_wait"), [
    {
      outcome: `{"kind":"child","run_id":${childId},"state":{"type":"Completed","name":"Completed","message":null},"result":42}`,
    },
  ]);
  t.equal(kit.run(caller.id).state.name, "Resuming");
  t.match(kit.send("CancelRun", { target: childId }).reply?.body, { caller_run_id: caller.id, lineage_id: childId });
});

t.test("the caller is told that the result of its child is not kept, and why", async (t) => {
  for (const lost of [{ result_bytes: 70_002 }, { result_lost: "it is not JSON" }]) {
    const { kit } = storedKit();
    calling(kit);
    const ended = send(kit, takeRun(kit, "e2"), [moveOf(kit, 3, "Completed", { details: lost })]);
    const [settled] = operations(ended, "settle_wait");
    const { state: _, run_id: __, ...outcome } = JSON.parse(String(settled?.["outcome"])) as Record<string, unknown>;
    t.same(outcome, { kind: "child", ...lost });
  }
});

t.test("the same key called again is the same child", async (t) => {
  const { kit } = storedKit();
  createId(kit, { flow: "part" });
  kit.send("CancelRun", { target: 1 });
  const caller = startDurable(kit);
  const first = arm(kit, caller, [{ wait: 1, kind: "child", flow: "part" }]);
  const again = arm(kit, caller, [{ wait: 1, kind: "child", flow: "part" }]);
  t.strictSame(again.reply?.body, first.reply?.body);
  t.strictSame(operations(again, "insert_run"), []);
});

t.test("a child that ends at its creation settles its wait at once", async (t) => {
  const { kit } = storedKit();
  createId(kit, { flow: "part", options: { max_concurrent: 1, on_overlap: "skip" } });
  takeRun(kit, "e9");
  const caller = startDurable(kit);
  const armed = arm(kit, caller, [{ wait: 1, kind: "child", flow: "part" }]);
  t.match(armed.reply?.body, { waits: [{ outcome: { kind: "child", state: { name: "Skipped" } } }] });
  const ops = armed.ops.map(({ op }) => op).filter((op) => op.endsWith("_wait"));
  t.strictSame(ops, ["put_wait", "settle_wait"]);
});

t.test("a crash of the child with a rerun does not wake its caller; the end of the rerun does", async (t) => {
  const { kit } = storedKit();
  const { caller, childId } = calling(kit);
  takeRun(kit, "e2");
  kit.tell({ kind: "EngineGone", engine_id: "e2", cause: "killed" });
  t.equal(kit.run(childId).state.type, "Crashed");
  t.equal(kit.run(caller.id).state.name, "AwaitingChild");
  kit.pass(20_000_000);
  const again = takeRun(kit, "e3");
  t.equal(kit.run(again.id).parent_run_id, childId);
  send(kit, again, [moveOf(kit, 3, "Failed", { message: "boom" })]);
  t.equal(kit.run(caller.id).state.name, "Resuming");
});

t.test("a deleted child settles the wait of its caller", async (t) => {
  const { kit } = storedKit();
  const { caller, childId } = calling(kit);
  kit.send("DeleteRun", { target: childId });
  t.equal(kit.run(caller.id).state.name, "Resuming");
});

t.test("a crashed child that is deleted before its rerun settles the wait", async (t) => {
  const { kit } = storedKit();
  const { caller, childId } = calling(kit);
  takeRun(kit, "e2");
  kit.tell({ kind: "EngineGone", engine_id: "e2", cause: "killed" });
  const deleted = kit.send("DeleteRun", { target: childId });
  t.match(operations(deleted, "settle_wait"), [{ outcome: `{"kind":"gone","run_id":${childId},"reason":"deleted"}` }]);
  t.equal(kit.run(caller.id).state.name, "Resuming");
});

t.test("a crashed child that is deleted with its flow before its rerun settles the wait", async (t) => {
  const { kit } = storedKit();
  const { caller, childId } = calling(kit);
  takeRun(kit, "e2");
  kit.tell({ kind: "EngineGone", engine_id: "e2", cause: "killed" });
  const child = kit.run(childId);
  // 3,000 runs that ended since: the child is in the store alone.
  for (let count = 0; count < 3_000; count += 1) kit.send("CancelRun", { target: createId(kit, { flow: "other" }) });
  kit.state.trim(kit.turn);
  t.notOk(kit.state.endedRuns().includes(child));
  const deleted = kit.send("DeleteFlow", { target: child.flow.id });
  t.match(operations(deleted, "settle_wait"), [{ outcome: `{"kind":"gone","run_id":${childId},"reason":"deleted"}` }]);
  t.equal(kit.run(caller.id).state.name, "Resuming");
});

t.test("a cancelled caller cancels its children, unless they are to be left", async (t) => {
  for (const [on_parent_end, expected] of [
    ["cancel", "Cancelled"],
    ["leave", "Scheduled"],
  ]) {
    const { kit } = storedKit();
    const { caller, childId } = calling(kit, { on_parent_end });
    const cancelled = kit.send("CancelRun", { target: caller.id });
    t.equal(kit.run(childId).state.type, expected, `${on_parent_end}`);
    t.ok(eventNames(cancelled).includes("run.cancelled"));
  }
});

t.test(
  "a child that was left by its caller does not settle the wait that the caller arms again with another child",
  async (t) => {
    const { kit } = storedKit();
    const { caller, childId: left } = calling(kit, { on_parent_end: "leave" });
    kit.send("CancelRun", { target: caller.id });
    const leftRun = takeRun(kit, "e2");
    t.equal(leftRun.id, left);
    move(kit, caller.id, "Scheduled", { force: true });
    const again = takeRun(kit, "e1");
    kit.send("CancelRun", { target: createId(kit, { flow: "other" }) });
    const [wait] = waitsOf(arm(kit, again, [{ wait: 1, kind: "child", flow: "other" }]));
    t.not(wait?.child_run_id, left);
    t.strictSame(operations(send(kit, leftRun, [moveOf(kit, 3, "Completed")]), "settle_wait"), []);
    const second = takeRun(kit, "e3");
    t.equal(second.id, wait?.child_run_id);
    t.match(operations(send(kit, second, [moveOf(kit, 3, "Completed")]), "settle_wait"), [{ id: wait?.id }]);
  },
);

/** A caller whose child has crashed twice: the rerun of its second run is due. */
function crashedTwice(kit: DispatchKit): { caller: HeldRun; first: number; second: number } {
  const { caller, childId: first } = calling(kit);
  takeRun(kit, "e2");
  kit.tell({ kind: "EngineGone", engine_id: "e2", cause: null });
  kit.pass(61 * SECOND_US);
  const second = takeRun(kit, "e3").id;
  t.match(kit.run(second), { created_by: `crash:${first}` });
  kit.tell({ kind: "EngineGone", engine_id: "e3", cause: null });
  t.equal(kit.run(second).state.type, "Crashed");
  return { caller, first, second };
}

t.test("a child that is to be run again goes on when an earlier run of it is deleted or ends in another way", async (t) => {
  for (const [label, end] of [
    ["deleted", (kit: DispatchKit, run: number) => kit.send("DeleteRun", { target: run })],
    ["forced", (kit: DispatchKit, run: number) => move(kit, run, "Failed", { force: true })],
  ] as const) {
    const { kit } = storedKit({ settings: { crashRetriesDefault: 3, rerunDelaySeconds: [60, 60] } });
    const { caller, first } = crashedTwice(kit);
    t.strictSame(operations(end(kit, first), "settle_wait"), [], label);
    kit.pass(61 * SECOND_US);
    send(kit, takeRun(kit, "e4"), [moveOf(kit, 3, "Completed")]);
    t.equal(kit.run(caller.id).state.name, "Resuming", label);
  }
});

t.test("an ended run is not moved back while its lineage goes on in another run", async (t) => {
  const { kit } = storedKit({ settings: { crashRetriesDefault: 3, rerunDelaySeconds: [60, 60] } });
  const { first, second } = crashedTwice(kit);
  const back = (): Outcome => move(kit, first, "Scheduled", { force: true });
  t.match(back().reply, { status: 409, body: { error: `run ${first} goes on as run ${second}` } }, "its rerun is due");
  kit.pass(61 * SECOND_US);
  const third = takeRun(kit, "e4");
  t.match(back().reply, { status: 409, body: { error: `run ${first} goes on as run ${third.id}` } });
  send(kit, third, [moveOf(kit, 3, "Completed")]);
  t.equal(back().reply?.status, 200);
});

t.test("a crash of the caller with a rerun leaves its children and their waits as they are", async (t) => {
  const { kit } = storedKit();
  createId(kit, { flow: "part" });
  kit.send("CancelRun", { target: 1 });
  const caller = startDurable(kit);
  const armed = arm(kit, caller, [{ wait: 1, kind: "child", flow: "part" }]);
  const [wait] = waitsOf(armed);
  kit.tell({ kind: "EngineGone", engine_id: "e1", cause: "killed" });
  const childId = wait?.child_run_id ?? 0;
  const child = takeRun(kit, "e2");
  t.equal(child.id, childId);
  send(kit, child, [moveOf(kit, 3, "Completed")]);
  kit.pass(20_000_000);
  const again = takeRun(kit, "e3");
  t.match(again.item["durable"], { lineage_id: caller.id, waits: 1 });
  const sent = send(kit, again, [parkOf(kit, 3, [1])]);
  t.match(sent.reply?.body, { run_state: { name: "Resuming" } }, "the child ended while the caller was gone");
});

t.test("children are at most eight deep, and the refusal names the chain", async (t) => {
  const { kit } = storedKit();
  let held = startDurable(kit, { flow: "nest" });
  for (let depth = 1; depth <= 8; depth += 1) {
    t.equal(arm(kit, held, [{ wait: 1, kind: "child", flow: "nest" }]).reply?.status, 200);
    held = takeRun(kit, `e${depth + 1}`);
  }
  const refused = arm(kit, held, [{ wait: 1, kind: "child", flow: "nest" }]);
  t.equal(refused.reply?.status, 422);
  t.match(refused.reply?.body["error"], /nest > nest > nest/);
});

t.test("a child may register its flow, once the request is accepted as a whole", async (t) => {
  const { kit } = storedKit();
  const caller = startDurable(kit);
  const registration = {
    module: "part.ts",
    source_dir: "/served",
    parameter_schema: { properties: { n: { type: "integer" } }, required: ["n"] },
    options: { priority: 2 },
  };
  const child = { kind: "child", flow: "test/part", registration };
  const without = arm(kit, caller, [{ wait: 1, kind: "child", flow: "test/part" }]);
  t.equal(without.reply?.status, 404);
  const refused = arm(kit, caller, [
    { wait: 1, ...child, parameters: { n: 1 } },
    { wait: 2, ...child },
  ]);
  t.equal(refused.reply?.status, 422, "the second lacks its parameter");
  t.same(operations(refused, "insert_flow"), []);
  const armed = arm(kit, caller, [{ wait: 1, ...child, parameters: { n: 1 } }]);
  t.equal(armed.reply?.status, 200, JSON.stringify(armed.reply?.body));
  t.match(operations(armed, "insert_flow"), [{ project: "test", name: "part", module: "part.ts" }]);
  t.equal(kit.run(waitsOf(armed)[0]?.child_run_id ?? 0).flow.name, "part");
});

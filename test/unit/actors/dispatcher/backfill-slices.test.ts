/** A large backfill is prepared in several steps, and decided in the last. */
import t from "tap";
import { type DecisionRecord, operations } from "../../../support/decision-record.ts";
import { DispatchKit, type SentCommand } from "../../../support/dispatch-kit.ts";
import { create, createId, move, poll, workOf } from "../../../support/dispatch-steps.ts";

const DAY = { type: "string", format: "date" };
const SCHEMA = { type: "object", properties: { day: DAY } };
const TEN_DAYS = { parameter: "day", start: "2026-01-01", end: "2026-01-10" };

function kitOf(settings: Record<string, number> = {}, schema: Record<string, unknown> = SCHEMA): DispatchKit {
  const kit = new DispatchKit({ settings: { backfillSliceRuns: 4, backfillNearMax: 2, ...settings } });
  move(kit, createId(kit, { parameter_schema: schema, parameters: { day: "2026-02-01" } }), "Cancelled");
  return kit;
}

function fill(kit: DispatchKit, sent: Partial<SentCommand> & { body?: object } = {}) {
  return kit.send("CreateBackfill", { target: 1, ...sent, body: { ...TEN_DAYS, ...sent.body } });
}

/** Status and body of each answer, by command. */
function answers({ replies }: DecisionRecord): [number, number, unknown][] {
  return replies.map(({ command, status, body }) => [command, status, body["id"] ?? body["error"]]);
}

t.test("nothing is decided before the last step, which decides all of it", async (t) => {
  const kit = kitOf();
  const sent = fill(kit);
  t.equal(sent.ops.length, 0);
  t.equal(sent.reply, null);
  const other = create(kit, { parameters: { day: "2026-03-01" } });
  t.equal(other.reply?.body["id"], 2, "other commands are decided between the slices, and no number is taken");
  const before = kit.state.rules.nextIds.event;
  const made = kit.pass(0);
  t.same(answers(made), [[sent.command, 201, 1]]);
  const runs = operations(made, "insert_run");
  t.same(
    runs.map((run) => run["id"]),
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  );
  t.match(runs[9], { name: "job-2026-01-10", parameters: '{"day":"2026-01-10"}', created_by: "backfill:1", backfill_id: 1 });
  t.match(kit.run(12).texts, {
    name: "job-2026-01-10",
    parameters: '{"day":"2026-01-10"}',
    tags: '["backfill:1"]',
    external_id: runs[9]?.["external_id"],
  });
  t.equal(operations(made, "insert_event").length, 10);
  t.equal(kit.state.rules.nextIds.event - before, 10, "the numbers of the events are counted");
  t.equal(made.stream.filter(({ kind }) => kind === "event.created").length, 10);
  t.same(made.stream.flatMap(({ kind, id }) => (kind === "run.updated" ? [id] : [])).slice(0, 2), [3, 4]);
});

t.test("a flow that is deleted or registered again between two steps is checked again", async (t) => {
  const deleted = kitOf();
  const sent = fill(deleted);
  deleted.send("DeleteFlow", { target: 1 });
  t.match(deleted.pass(0).replies, [{ command: sent.command, status: 404 }]);

  const changed = kitOf();
  const again = fill(changed);
  create(changed, { parameter_schema: { type: "object", properties: { at: DAY } }, parameters: { at: "2026-01-01" } });
  t.match(changed.pass(0).replies, [{ command: again.command, status: 422, body: { error: 'flow has no parameter "day"' } }]);
  t.equal(changed.state.backfills.get(1), undefined);
});

t.test("a value that the parameter does not take refuses all of it", async (t) => {
  const days = ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05", "2026-02-01"];
  const kit = kitOf({}, { type: "object", properties: { day: { ...DAY, enum: days } } });
  const sent = fill(kit);
  const refused = kit.pass(0);
  t.match(refused.replies, [{ command: sent.command, status: 422, body: { error: /^parameter "day": expected one of/ } }]);
  t.equal(refused.ops.length, 0);
});

t.test("the same request twice is one backfill", async (t) => {
  const kit = kitOf();
  const idempotency = { key: "k", fingerprint: "f" };
  const [first, second] = [fill(kit, { idempotency }), fill(kit, { idempotency })];
  const made = kit.pass(0);
  t.same(answers(made), [
    [first.command, 201, 1],
    [second.command, 201, 1],
  ]);
  t.equal(operations(made, "insert_run").length, 10);
});

t.test("a server that stops between the slices creates nothing", async (t) => {
  const kit = kitOf();
  const sent = fill(kit);
  kit.tell({ kind: "StopWork" });
  t.match(kit.pass(0).replies, [{ command: sent.command, status: 409 }]);
});

t.test("its runs and their events belong to the chain of rules that led to it", async (t) => {
  const kit = kitOf();
  fill(kit, { ruleDepth: 3 });
  const made = kit.pass(0);
  t.equal(operations(made, "put_chain").filter((chain) => chain["depth"] === 3).length, 10);
  t.equal(operations(made, "put_event_chain").filter((chain) => chain["depth"] === 3).length, 10);
});

t.test("what else the parameters hold stands around the value", async (t) => {
  const properties = { a: { type: "integer", default: 1 }, day: DAY, z: { type: "string" } };
  const kit = kitOf({}, { type: "object", properties });
  fill(kit, { body: { end: "2026-01-01", extra_parameters: { z: '0"1' } } });
  t.equal(kit.run(2).texts?.parameters, '{"a":1,"day":"2026-01-01","z":"0\\"1"}');
});

t.test("runs whose turn is not near stand in line behind the queue, and move up in order", async (t) => {
  const kit = kitOf();
  fill(kit, { body: { concurrency: 2 } });
  kit.pass(0);
  const places = () => Array.from({ length: 10 }, (_, index) => kit.run(index + 2).place);
  t.same(places(), [...Array(4).fill("ready"), ...Array(6).fill("behind")]);
  t.match(kit.send("ExplainRun", { target: 9 }).reply?.body, { reason: { code: "resource", object: "backfill:1" } });
  const handedOut: number[] = [];
  const take = (): void => void handedOut.push(Number(workOf(poll(kit, `e${handedOut.length}`))?.["run_id"]));
  take();
  take();
  t.equal(workOf(poll(kit, "more", { wait_ms: 0 })), null, "two at once");
  while (handedOut.length < 10) {
    move(kit, handedOut[handedOut.length - 2] ?? 0, "Completed", { force: true });
    take();
  }
  t.same(handedOut, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});

t.test("runs behind the queue move up when those before them are cancelled", async (t) => {
  const kit = kitOf();
  fill(kit);
  kit.pass(0);
  for (const id of [2, 3, 4]) kit.send("CancelRun", { target: id });
  t.equal(kit.run(5).place, "behind");
  kit.pass(1_000_000);
  t.equal(kit.run(5).place, "ready");
  t.equal(kit.run(8).place, "behind");
  t.equal(Number(workOf(poll(kit, "e"))?.["run_id"]), 5);
});

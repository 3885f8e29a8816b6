/** Data beyond a limit is refused with the limit's name, or truncated where user code decides its length. */
import t from "tap";
import { backfillValues } from "#actors/dispatcher/backfills/backfill-values";
import { boundedDetails, cutText } from "#actors/dispatcher/reports/sent-text";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { create, createId, move, report, startRun } from "../../../support/dispatch-steps.ts";

const MIB = 1_048_576;

t.test("a text is cut only beyond its limit, and says how long it was", async (t) => {
  t.equal(cutText("a".repeat(100), 100), "a".repeat(100));
  const cut = cutText("a".repeat(101), 100);
  t.equal(cut.length, 100);
  t.match(cut, /^a+… \(cut: 101 characters\)$/);
  t.ok(cutText("😀".repeat(100), 100).isWellFormed());
});

t.test("details beyond their limit leave their size and the beginning of the traceback", async (t) => {
  const small = { result: 1 };
  t.equal(boundedDetails(small), small);
  t.same(boundedDetails({ a: "x".repeat(MIB) }), { details_bytes: MIB + 8 });
  const { traceback, ...rest } = boundedDetails({ traceback: "Error: no\n".repeat(200_000) });
  t.match(traceback, /^Error: no\n.*… \(cut: 2000000 characters\)$/s);
  t.same(Object.keys(rest), ["details_bytes"]);
});

t.test("an engine's long error message moves its run all the same", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  const { reply } = move(kit, run, "Failed", { message: "m".repeat(5_000_000), details: { traceback: "t".repeat(5_000_000) } });
  t.equal(reply?.status, 200);
  const { state } = (reply?.body ?? {}) as { state: { message: string; details: Record<string, unknown> } };
  t.match(state.message, /… \(cut: 5000000 characters\)$/);
  t.equal(state.details["details_bytes"], 5_000_016);
});

t.test("a report loses only what is beyond a limit, and the run's log says what", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  const line = { run_id: run, level: 20, logger: "job", timestamp: 1, message: "l".repeat(300_000) };
  const outcome = report(kit, run, [
    { kind: "logs", seq: 1, logs: [line] },
    { kind: "custom", seq: 2, name: "order.large", payload: { a: "x".repeat(MIB) } },
    { kind: "custom", seq: 3, name: "order.small", payload: { a: 1 } },
  ]);
  t.match(outcome.reply?.body, { applied: 3, last_seq: 3 });
  const [cut, warning] = outcome.logs[0]?.lines ?? [];
  t.match(cut?.[4], /^l{262000}l*… \(cut: 300000 characters\)$/);
  t.match(warning?.[4], /event "order.large" was not recorded: its payload exceeds 1048576 bytes/);
});

t.test("values beyond their limit are refused with its number, and nothing is changed", async (t) => {
  const kit = new DispatchKit();
  const large = { a: "x".repeat(MIB) };
  const refused = (outcome: ReturnType<typeof create>) => [outcome.reply?.status, outcome.reply?.body["error"]];
  t.same(refused(create(kit, { parameter_schema: { type: "object", properties: large } })), [
    422,
    "parameter_schema exceeds 1048576 bytes as JSON text",
  ]);
  t.same(refused(create(kit, { options: large })), [422, "options exceeds 1048576 bytes as JSON text"]);
  t.same(refused(create(kit, { name: "n".repeat(1_001) })), [422, "name: expected at most 1000 characters"]);
  t.equal(create(kit, { name: "😀".repeat(1_000) }).reply?.status, 201, "characters are code points");
  t.same(refused(create(kit, { tags: Array.from({ length: 1_001 }, String) })), [422, "tags: expected at most 1000 items"]);
  const run = createId(kit);
  t.same(refused(kit.send("EmitEvent", { body: { name: "order.paid", payload: large } })), [
    422,
    "payload exceeds 1048576 bytes as JSON text",
  ]);
  const named = kit.send("EmitEvent", { body: { name: `run.${"x".repeat(MIB)}` } });
  t.equal(named.reply?.status, 422);
  t.match(named.reply?.body["error"], /name: expected at most 1000 characters$/);
  kit.send("TransitionRun", { target: run, body: { type: "Paused", force: true } });
  t.same(refused(kit.send("ResumeRun", { target: run, body: { input: large } })), [
    422,
    "input exceeds 1048576 bytes as JSON text",
  ]);
  const rule = { name: "r", when: { events: ["a"] }, do: [{ kind: "webhook", url: "http://127.0.0.1/", body: large }] };
  t.match(refused(kit.send("CreateRule", { body: rule }))[0], 422);
});

t.test("the parameters of all runs of a backfill have a limit together", async (t) => {
  const kit = new DispatchKit();
  const properties = { day: { type: "string", format: "date" }, data: {} };
  createId(kit, { parameter_schema: { type: "object", properties }, parameters: { day: "2026-01-01" } });
  const { reply } = kit.send("CreateBackfill", {
    target: 1,
    body: { parameter: "day", start: "2026-01-01", end: "2026-12-31", extra_parameters: { data: "x".repeat(200_000) } },
  });
  t.equal(reply?.status, 422);
  t.match(reply?.body["error"], /365 runs with parameters of 2000\d\d bytes exceed 67108864 bytes together/);
});

t.test("the time to refuse an interval grows with its length only", async (t) => {
  // In quadratic time these would take minutes, and the test would not end.
  for (const text of [`1${" ".repeat(1_000_000)}x y`, `${" ".repeat(1_000_000)}!`, `${"1".repeat(1_000_000)}!`])
    t.notOk(backfillValues("date", "2026-01-01", "2026-01-02", text).ok);
});

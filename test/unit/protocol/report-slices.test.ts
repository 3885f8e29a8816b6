import t from "tap";
import { REPORT_SLICE_BYTES_MAX, REPORT_SLICE_ROWS_MAX } from "#protocol/limits";
import type { ReportEvent } from "#protocol/records/engine";
import { scanItems } from "#protocol/wire/item-scan";
import { eventsOfSlice, sliceEnds, sliceReport } from "#protocol/wire/report-slices";
import { operations } from "../../support/decision-record.ts";
import { DispatchKit } from "../../support/dispatch-kit.ts";
import { move, report, startRun } from "../../support/dispatch-steps.ts";

const custom = (seq: number, payload: unknown = {}) => ({ kind: "custom" as const, seq, name: "step", payload });
const customs = (from: number, count: number) => Array.from({ length: count }, (_, index) => custom(from + index));
const moved = (seq: number) => ({
  kind: "task_run_transition" as const,
  seq,
  external_id: "11111111-1111-7111-8111-111111111111",
  state: { type: "Running" as const, timestamp: seq },
});
const none = () => 0;

/** A report's text as the gateway passes it on. */
function shared(text: string | Buffer): SharedArrayBuffer {
  const bytes = Buffer.from(text);
  const memory = new SharedArrayBuffer(bytes.length);
  new Uint8Array(memory).set(bytes);
  return memory;
}

t.test("events are found in any text of a report, and in none that is not one", async (t) => {
  const eventsIn = (text: string) => {
    const scanned = scanItems(Buffer.from(text), "events");
    if (scanned === null) return null;
    const texts: string[] = [];
    for (let at = 0; at < scanned.bounds.length; at += 2)
      texts.push(Buffer.from(text).toString("utf8", scanned.bounds[at], scanned.bounds[at + 1]));
    return [JSON.parse(scanned.head), texts];
  };
  t.same(eventsIn('{"engine_id":"e","events":[ {"a":"]}"} , [1,[2]],"x\\\\",null\n],"run_id":1}'), [
    { engine_id: "e", events: [], run_id: 1 },
    ['{"a":"]}"}', "[1,[2]]", '"x\\\\"', "null"],
  ]);
  t.same(eventsIn('{"events":[]}'), [{ events: [] }, []]);
  t.same(eventsIn('{"\\u0065vents":[1],"é\\"":{"events":[3]}}'), [{ events: [], 'é"': { events: [3] } }, ["1"]]);
  t.same(eventsIn('{"events":[1],"events":[2]}'), [{ events: [] }, ["2"]], "the last one counts");
  for (const text of ["", "[]", "{}", '{"events":1}', '{"events":[1}', '{"events":[1,]}', '{"events":[1]', '{"events":[1]} x'])
    t.equal(eventsIn(text), null, text);
});

t.test("a slice holds so many rows, a move counting as two, or so many bytes", async (t) => {
  const rows = REPORT_SLICE_ROWS_MAX;
  t.same(sliceEnds([], none), [0], "an empty report is one slice");
  t.same(sliceEnds(customs(1, rows), none), [rows]);
  t.same(sliceEnds(customs(1, rows + 1), none), [rows, rows + 1]);
  const moves: ReportEvent[] = Array.from({ length: rows }, (_, index) => moved(index + 1));
  t.same(sliceEnds(moves, none), [rows / 2, rows]);
  const half = REPORT_SLICE_BYTES_MAX / 2;
  t.same(
    sliceEnds(customs(1, 5), () => half),
    [2, 4, 5],
  );
  t.same(
    sliceEnds(customs(1, 3), (index) => (index === 1 ? 3 * half : 10)),
    [1, 2, 3],
    "one that is larger than a slice is alone",
  );
});

t.test("a large report is checked whole and cut up as text; long integers keep their digits", async (t) => {
  const payload = "x".repeat(REPORT_SLICE_BYTES_MAX / 2);
  const events = [custom(1, { payload }), custom(2, { payload }), custom(3)];
  const text = JSON.stringify({ engine_id: "e", run_id: 7, lease: 5, events }).replace(
    '"payload":{}',
    '"payload":{"n":12345678901234567890}',
  );
  const sliced = sliceReport(shared(text));
  if (!sliced.ok) throw new Error(sliced.detail);
  const { slices, text: kept, ...head } = sliced.report;
  t.same(head, { engine_id: "e", run_id: 7, lease: 5, count: 3 });
  t.same(
    slices.flatMap((bounds) => eventsOfSlice(sliced.report, bounds).map(({ seq }) => seq)),
    [1, 2, 3],
  );
  t.ok(slices.length > 1 && slices.every(([from, to]) => to - from <= REPORT_SLICE_BYTES_MAX));
  t.match(Buffer.from(kept).toString("utf8", ...(slices.at(-1) ?? [0, 0])), /12345678901234567890/);
  const broken = JSON.stringify({ engine_id: "e", run_id: 7, events: [...events, { kind: "custom", seq: 4 }] });
  t.match(sliceReport(shared(broken)), { ok: false, code: "invalid", detail: /^events\[3\]/ });
  t.match(sliceReport(shared("{")), { ok: false, code: "bad_json" });
  t.match(sliceReport(shared('{"events":[1 2]}')), { ok: false, code: "bad_json" });
  t.match(sliceReport(shared(JSON.stringify({ engine_id: "e", run_id: 7, events: 1 }))), { ok: false, code: "invalid" });
  t.match(sliceReport(shared(Buffer.from([0x22, 0xff, 0x22]))), { ok: false, code: "bad_json", detail: "it is not UTF-8" });
});

t.test("slices are committed one after the other, each with its number; the answer comes with the last", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  const rows = REPORT_SLICE_ROWS_MAX;
  kit.committed = kit.turn;
  const first = report(kit, run, customs(1, 2 * rows + 10));
  t.equal(first.reply, null);
  t.equal(operations(first, "insert_event").length, rows);
  t.match(operations(first, "update_run"), [{ report_seq: rows }]);
  t.equal(operations(kit.tell({ kind: "ContinueSlices" }), "insert_event").length, 0, "the first is not committed yet");
  kit.committed = kit.turn;
  const second = kit.tell({ kind: "ContinueSlices" });
  t.equal(operations(second, "insert_event").length, rows);
  t.match(operations(second, "update_run"), [{ report_seq: 2 * rows }]);
  kit.committed = kit.turn;
  const last = kit.tell({ kind: "ContinueSlices" });
  t.equal(operations(last, "insert_event").length, 10);
  t.match(last.replies, [
    { command: first.command, status: 200, body: { applied: 2 * rows + 10, skipped: 0, last_seq: 2 * rows + 10 } },
  ]);
  t.equal(kit.state.openReports.size, 0);
});

t.test("what was applied is skipped when the report comes again, however it was cut", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  const count = REPORT_SLICE_ROWS_MAX + 5;
  kit.committed = kit.turn;
  report(kit, run, customs(1, count));
  kit.state.openReports.remove(kit.state.openReports.find(run) ?? fail());
  kit.committed = null;
  const again = report(kit, run, customs(1, count));
  t.same(again.reply?.body, { applied: 5, skipped: REPORT_SLICE_ROWS_MAX, last_seq: count, cancel: false });
  const third = report(kit, run, customs(1, count));
  t.same(
    third.reply?.body,
    { applied: 0, skipped: count, last_seq: count, cancel: false },
    "nothing to commit, and yet an answer",
  );
});

t.test("reports and moves of the run wait behind it, in order; other runs do not", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  const other = startRun(kit, "e2");
  kit.committed = kit.turn;
  const big = report(kit, run, customs(1, REPORT_SLICE_ROWS_MAX + 1));
  const later = report(kit, run, customs(REPORT_SLICE_ROWS_MAX + 2, 1));
  const end = move(kit, run, "Completed");
  t.same([later.reply, end.reply], [null, null]);
  t.equal(move(kit, other, "Completed").reply?.status, 200);
  kit.committed = kit.turn;
  const before = kit.turn;
  const last = kit.tell({ kind: "ContinueSlices" });
  t.equal(kit.turn - before, 4, "the message, the slice, and each that waited are steps of their own");
  t.same(
    last.replies.map(({ command, status }) => [command, status]),
    [
      [big.command, 200],
      [later.command, 200],
      [end.command, 200],
    ],
  );
  t.match(last.replies[1]?.body, { applied: 1, last_seq: REPORT_SLICE_ROWS_MAX + 2 });
});

t.test("slices, and what waits behind them, belong to the chains of rules of their commands", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  kit.committed = kit.turn;
  const events = customs(1, REPORT_SLICE_ROWS_MAX + 1);
  const body = { engine_id: "e1", run_id: run };
  kit.send("Report", { body: { ...body, events }, ruleDepth: 2 });
  kit.send("Report", { body: { ...body, events: customs(REPORT_SLICE_ROWS_MAX + 2, 1) }, ruleDepth: 5 });
  kit.send("Report", { body: { ...body, events: customs(REPORT_SLICE_ROWS_MAX + 3, 1) } });
  kit.committed = kit.turn;
  const last = kit.tell({ kind: "ContinueSlices" });
  t.equal(operations(last, "insert_event").length, 3);
  t.match(operations(last, "put_event_chain"), [{ depth: 2 }, { depth: 5 }]);
});

t.test("a run that is deleted between the slices ends the report", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  kit.committed = kit.turn;
  const big = report(kit, run, customs(1, REPORT_SLICE_ROWS_MAX + 1));
  kit.send("CancelRun", { target: run });
  t.equal(kit.send("TransitionRun", { target: run, body: { type: "Cancelled", force: true } }).reply, null, "waits");
  kit.state.removeRun(kit.run(run), kit.turn);
  kit.committed = kit.turn;
  const last = kit.tell({ kind: "ContinueSlices" });
  t.match(last.replies[0], { command: big.command, status: 404 });
  t.equal(kit.state.openReports.size, 0);
});

t.test("a malformed event refuses all of it", async (t) => {
  const kit = new DispatchKit();
  const run = startRun(kit);
  const refused = report(kit, run, [...customs(1, REPORT_SLICE_ROWS_MAX + 5), { kind: "custom" }]);
  t.equal(refused.reply?.status, 422);
  t.equal(operations(refused, "insert_event").length, 0);
});

function fail(): never {
  throw new Error("no report is open");
}

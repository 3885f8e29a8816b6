import t from "tap";
import { backfillValues, textOf, valueForm } from "#actors/dispatcher/backfills/backfill-values";
import { eventNames, operations } from "../../../support/decision-record.ts";
import { DispatchKit, type Outcome } from "../../../support/dispatch-kit.ts";
import { createId, move, poll, workOf } from "../../../support/dispatch-steps.ts";

const SCHEMA = {
  type: "object",
  properties: {
    day: { type: "string", format: "date" },
    at: { anyOf: [{ type: "string", format: "date-time" }, { type: "null" }] },
    region: { type: "string", default: "eu" },
  },
};

function backfilled(body: Record<string, unknown>, options: Record<string, unknown> = {}): { kit: DispatchKit; made: Outcome } {
  const kit = new DispatchKit();
  move(kit, createId(kit, { parameter_schema: SCHEMA, options, parameters: { day: "2025-01-01" } }), "Cancelled");
  const made = kit.send("CreateBackfill", {
    target: 1,
    body: { parameter: "day", start: "2026-01-01", end: "2026-01-03", ...body },
  });
  return { kit, made };
}

function valuesOf(outcome: Outcome): string[] {
  return operations(outcome, "insert_run").map((run) => String((JSON.parse(String(run["parameters"])) as { day: string }).day));
}

t.test("values: inclusive, in UTC, each once", async (t) => {
  const values = (form: "date" | "date-time", start: string, end: string, interval?: unknown) => {
    const listed = backfillValues(form, start, end, interval);
    return listed.ok ? listed.units.map((unit) => textOf(form, unit)) : listed.error;
  };
  t.same(values("date", "2026-01-01", "2026-01-06", "2d"), ["2026-01-01", "2026-01-03", "2026-01-05"]);
  t.same(values("date", "2026-01-01", "2026-01-02", "6h"), ["2026-01-01", "2026-01-02"], "a day is named once");
  t.same(values("date-time", "2026-01-01T00:00:00+02:00", "2025-12-31T23:00:00Z", "30m"), [
    "2025-12-31T22:00:00Z",
    "2025-12-31T22:30:00Z",
    "2025-12-31T23:00:00Z",
  ]);
  t.same(values("date-time", "2026-01-01T00:00:00.9Z", "2026-01-01T00:00:00.9", 1), ["2026-01-01T00:00:00Z"]);
  t.match(values("date", "2026-02-30", "2026-03-01"), /cannot parse "2026-02-30"/);
  t.match(values("date", "2026-01-02", "2026-01-01"), /end is before start/);
  t.match(values("date", "2026-01-01", "2026-01-02", "5x"), /unknown interval unit "x"/);
  t.match(values("date", "2026-01-01", "2026-01-02", "-1d"), /interval must be positive/);
  t.match(values("date", "2026-01-01", "2026-01-02", "soon"), /invalid interval "soon"/);
  t.match(values("date-time", "1970-01-01", "2026-01-01", "1s"), /more than 100000 values/);
  t.match(values("date", "1970-01-01", "2026-01-01", 0.001), /more than 100000 values/, "bounded");
  t.equal(valueForm({ anyOf: [{ type: "null" }, { format: "date" }] }), "date");
  t.equal(valueForm({ type: "string" }), null);
});

t.test("all runs come in one decision, through the resource of the backfill", async (t) => {
  const { kit, made } = backfilled({ reverse: true, concurrency: 2, extra_parameters: { region: "us" } });
  t.match(made.reply, {
    status: 201,
    body: { id: 1, total: 3, concurrency: 2, counts: { Scheduled: 3 }, tag: "backfill:1", extra_parameters: { region: "us" } },
  });
  t.same(valuesOf(made), ["2026-01-03", "2026-01-02", "2026-01-01"]);
  t.match(operations(made, "insert_run")[0], { name: "job-2026-01-03", created_by: "backfill:1", tags: '["backfill:1"]' });
  t.ok(made.stream.some(({ kind, id }) => kind === "backfill.created" && id === 1));
  for (const engine of ["a", "b"]) t.ok(workOf(poll(kit, engine, { wait_ms: 0 })), engine);
  t.equal(workOf(poll(kit, "c", { wait_ms: 0 })), null, "two at once");
});

t.test("a dry run reports what would be created", async (t) => {
  const { made } = backfilled({ dry_run: true });
  t.match(made.reply, {
    status: 200,
    body: {
      dry_run: true,
      flow: "job",
      parameter: "day",
      first: "2026-01-01",
      last: "2026-01-03",
      runs: 3,
      interval_seconds: 86_400,
    },
  });
  t.equal(made.ops.length, 0);
});

t.test("what does not fit is refused whole", async (t) => {
  const wrong: [Record<string, unknown>, RegExp][] = [
    [{ parameter: "nope" }, /flow has no parameter "nope"/],
    [{ parameter: "region" }, /parameter "region" is not a date or datetime/],
    [{ extra_parameters: { colour: "red" } }, /parameter "colour" is not declared/],
    [{ extra_parameters: { region: 5 } }, /parameter "region": expected string/],
    [{ end: "2025-01-01" }, /end is before start/],
  ];
  for (const [body, error] of wrong) {
    const { made } = backfilled(body);
    t.match(made.reply, { status: 422, body: { error } });
    t.equal(made.ops.length, 0);
  }
});

t.test("runs wait for the check of values that are done; those end Skipped, the others are queued", async (t) => {
  const { kit, made } = backfilled({}, { has_bulk_complete: true });
  t.match(made.reply?.body, { counts: { Scheduled: 3 } });
  const job = workOf(poll(kit, "e1"));
  t.match(job, { kind: "bulk_complete", run_id: 0, payload: { kind: "bulk_complete", backfill_id: 1, flow_id: 1 } });
  t.equal(workOf(poll(kit, "e2", { wait_ms: 0 })), null, "another engine is given neither the job nor a run");
  const answered = kit.send("PrefilterBackfill", { target: 1, body: { skip: ["2026-01-02", "1999-01-01"] } });
  t.match(answered.reply, { status: 200, body: { skipped: 1 } });
  t.ok(eventNames(answered).includes("run.skipped"));
  t.ok(workOf(poll(kit, "e3", { wait_ms: 0 })));
});

t.test("a run that crashed before its backfill was cancelled is not run again", async (t) => {
  const { kit } = backfilled({}, { crash_retries: 3 });
  const id = Number(workOf(poll(kit, "e1"))?.["run_id"]);
  move(kit, id, "Running");
  kit.tell({ kind: "EngineGone", engine_id: "e1", cause: null });
  t.equal(kit.run(id).state.type, "Crashed");
  kit.send("CancelBackfill", { target: 1 });
  const later = kit.pass(20_000_000);
  t.equal(operations(later, "delete_rerun").length, 1);
  t.equal(operations(later, "insert_run").length, 0);
});

t.test("cancelling ends its unfinished runs and can be repeated", async (t) => {
  const { kit } = backfilled({}, { has_bulk_complete: true });
  const cancelled = kit.send("CancelBackfill", { target: 1 });
  t.match(cancelled.reply, { status: 200, body: { cancelled: true, counts: { Cancelled: 3 } } });
  t.match(kit.send("CancelBackfill", { target: 1 }).reply, { status: 200, body: { counts: { Cancelled: 3 } } });
  t.match(kit.send("CancelBackfill", { target: 9 }).reply, { status: 404 });
});

t.test("a backfill whose runs had all ended is there again with its counts and its resource when one is set going", async (t) => {
  const { kit: before } = backfilled({ concurrency: 2 });
  const backfill = before.state.findBackfill(1);
  before.send("CancelBackfill", { target: 1 });
  const run = before.state.endedRuns().find(({ backfill_id }) => backfill_id === 1);
  if (backfill === undefined || run === undefined) throw new Error("there is no backfill");
  // As after a restart: without unfinished runs, neither the backfill nor its runs are in memory.
  const kit = new DispatchKit({ stored: new Map([[run.id, run]]), storedBackfills: new Map([[1, backfill]]) });
  move(kit, createId(kit), "Cancelled");
  Object.assign(kit.state.nextIds, { run: 10, backfill: 2 });
  move(kit, run.id, "Scheduled", { force: true });
  t.same(Object.fromEntries(kit.state.findBackfill(1)?.counts ?? []), { Cancelled: 2, Scheduled: 1 });
  t.match(kit.state.ledger.list(), [{ name: "backfill:1", total: 2 }]);
});

/** Reads of overviews: ended runs by quarter of an hour, runs of a calendar, backfills and their values. */
import t from "tap";
import { ANSWER_PART_BYTES_MAX } from "#protocol/limits";
import { type QueryArguments, type QueryName, runPart, runQuery } from "#storage/queries/named";
import { Statements } from "#storage/sqlite/statements";
import { putOperation, type RowOf } from "#storage/write/ops";
import { backfillRow, openStore, putFlow, putRun, type RunSpec, request, type Store } from "../../support/storage-rows.ts";

const HOUR_US = 3_600_000_000;
const QUARTER_US = HOUR_US / 4;
const NOW_US = 1_000 * HOUR_US + QUARTER_US + 1;

const RUN: RunSpec = {
  ...{ id: 1, flow: 1, name: "one", tags: [], type: "Completed", stateName: "Completed", created: 1, start: 1, end: 6 },
  ...{ scheduled: null, schedule: null, backfill: null },
};

function storeOf(runs: readonly Partial<RunSpec>[]): Store {
  const store = openStore();
  const ops: Parameters<typeof putFlow>[0] = [];
  putFlow(ops, 1, "p", "a");
  for (const [index, run] of runs.entries()) {
    const spec = { ...RUN, id: index + 1, ...run };
    putRun(ops, spec);
    putOperation(ops, "count_runs", { flow_id: 1, state_type: spec.type, delta: 1 });
  }
  store.writer.commit(request(store.writer, 1, { ops }));
  return store;
}

function read<N extends QueryName>({ statements }: Store, name: N, args: QueryArguments[N]) {
  const text = runQuery(statements, name, args);
  return text === null ? null : JSON.parse(text);
}

function ended(at: number, name: string, task = "", delta = 1): RowOf<"count_ended"> {
  const state_type = name === "Failed" ? "Failed" : "Completed";
  return { ended_at: at, flow_id: 1, task_name: task, state_type, duration: 5, delta, state_name: name };
}

t.test("runs that ended are told by quarters of an hour and name of their state", async (t) => {
  const store = storeOf([]);
  const ops: Parameters<typeof putOperation>[0] = [];
  const quarter = 1_000 * HOUR_US;
  for (const each of [
    ended(quarter, "Completed"),
    ended(quarter + QUARTER_US - 1, "Completed"),
    ended(quarter + 1, "Skipped"),
    ended(quarter + QUARTER_US, "Failed"),
    ended(quarter, "Cached", "of a task"),
    ended(quarter - 2 * HOUR_US, "Completed"),
    ended(quarter + 2, "Cancelled"),
    ended(quarter + 2, "Cancelled", "", -1),
  ])
    putOperation(ops, "count_ended", each);
  store.writer.commit(request(store.writer, 2, { ops }));
  t.strictSame(read(store, "stats", { hours: 1, now_us: NOW_US }).quarters, [
    { time: quarter, states: { Completed: 2, Skipped: 1 } },
    { time: quarter + QUARTER_US, states: { Failed: 1 } },
  ]);
});

t.test("a task is counted under its whole name, also one with a line break", async (t) => {
  const store = storeOf([]);
  const ops: Parameters<typeof putOperation>[0] = [];
  for (const task of ["load", "load\nall", "load\nall"])
    putOperation(ops, "count_ended", ended(1_000 * HOUR_US, "Completed", task));
  store.writer.commit(request(store.writer, 2, { ops }));
  t.match(read(store, "stats", { hours: 1, now_us: NOW_US }).tasks, [
    { flow_id: 1, task: "load\nall", states: { Completed: 2 } },
    { flow_id: 1, task: "load", states: { Completed: 1 } },
  ]);
});

t.test("runs of fires are counted by schedule, hour and state, and one alone keeps its time", async (t) => {
  const at = 1_000 * HOUR_US;
  const store = storeOf([
    { schedule: 7, scheduled: at },
    { schedule: 7, scheduled: at + QUARTER_US },
    { schedule: 7, scheduled: at + 2 * QUARTER_US, type: "Failed", stateName: "TimedOut" },
    { schedule: 8, scheduled: at + 5, type: "Scheduled", stateName: "Scheduled", start: null, end: null },
    { schedule: 8, scheduled: at + 2 * HOUR_US },
    { scheduled: at },
  ]);
  const runs = (each: number) => read(store, "schedule_runs", { after: at, before: at + 2 * HOUR_US, each });
  t.strictSame(runs(2), runs(0), "three runs in the hour");
  t.strictSame(
    runs(3).map(([, time, count]: [number, number, number]) => [time, count]),
    [
      [at, 1],
      [at + QUARTER_US, 1],
      [at + 2 * QUARTER_US, 1],
      [at + 5, 1],
    ],
    "one by one",
  );
  t.strictSame(runs(0), [
    [7, at + QUARTER_US, 2, "Completed", "Completed", 2],
    [7, at + 2 * QUARTER_US, 1, "Failed", "TimedOut", 3],
    [8, at + 5, 1, "Scheduled", "Scheduled", 4],
  ]);
});

t.test("ended_before leaves out what ended then or later", async (t) => {
  const store = storeOf([{ end: 10 }, { end: 20 }, { end: 30, type: "Failed", stateName: "Failed" }]);
  const total = (query: object) => read(store, "run_counts", { query }).total;
  t.equal(total({ ended_after: 10, ended_before: 20 }), 1);
  t.equal(total({ ended_after: 10, ended_before: 31 }), 3);
  t.equal(total({ ended_before: 31, states: ["Failed"] }), 1);
});

t.test("a list of flows holds the requested number of latest ended runs", async (t) => {
  const store = storeOf([{}, { type: "Failed", stateName: "Failed" }, { type: "Running", stateName: "Running", end: null }]);
  const flows = (results: number) => read(store, "flow_summaries", { project: null, results, live: [], now_us: 1 });
  t.strictSame(flows(1)[0].results, [[2, "Failed", "Failed", 5]]);
  t.strictSame(
    flows(9)[0].results.map(([id]: [number]) => id),
    [2, 1],
  );
  t.equal(flows(0)[0].results, undefined);
});

/** Counts the statements that are asked for, which is once for each execution, by a part of their text. */
class CountedStatements extends Statements {
  asked = 0;
  ofAllFlows = 0;

  override raw<Row>(sql: string) {
    this.asked += 1;
    if (sql.includes(`'"after"'`)) this.ofAllFlows += 1;
    return super.raw<Row>(sql);
  }
}

t.test("a list of 20,000 flows takes a few statements for fifty flows, in parts of bounded size", async (t) => {
  const count = 20_000;
  const store = openStore();
  const ops: Parameters<typeof putFlow>[0] = [];
  for (let id = 1; id <= count; id += 1) putFlow(ops, id, "p", `flow-${String(id).padStart(5, "0")}`);
  store.writer.commit(request(store.writer, 1, { ops }));
  const statements = new CountedStatements(store.database);
  const sizes: number[] = [];
  const texts: string[] = [];
  let args: QueryArguments["flow_summaries"] | null = { project: null, live: [], now_us: 1 };
  while (args !== null) {
    const part: ReturnType<typeof runPart<"flow_summaries">> = runPart(statements, "flow_summaries", args);
    texts.push(part?.text ?? "");
    sizes.push(part?.text.length ?? 0);
    args = part?.next ?? null;
  }
  const listed = JSON.parse(texts.join("")) as { id: number }[];
  t.strictSame(
    listed.map(({ id }) => id),
    Array.from({ length: count }, (_, index) => index + 1),
  );
  t.ok(Math.max(...sizes) < ANSWER_PART_BYTES_MAX + 2_000, `the largest of ${sizes.length} parts has ${Math.max(...sizes)}`);
  t.ok(statements.ofAllFlows <= sizes.length, `${statements.ofAllFlows} statements read the options of all flows`);
  t.ok(statements.asked < count / 10, `${statements.asked} statements`);
});

t.test("a flow that is named is found among 20,000 without a summary of the others", async (t) => {
  const count = 20_000;
  const store = openStore();
  const ops: Parameters<typeof putFlow>[0] = [];
  for (let id = 1; id <= count; id += 1) putFlow(ops, id, "p", `flow-${id}`);
  store.writer.commit(request(store.writer, 1, { ops }));
  for (const reference of ["flow-12345", "p/flow-12345"]) {
    const statements = new CountedStatements(store.database);
    const part = runPart(statements, "flow_summaries", { project: null, reference, live: [], now_us: 1 });
    t.match(JSON.parse(part?.text ?? ""), [{ id: 12_345 }]);
    t.equal(part?.next, null);
    t.ok(statements.asked < 10, `${statements.asked} statements`);
  }
});

t.test("backfills of all flows, and the values of one with their runs", async (t) => {
  const store = storeOf([{ backfill: 3 }, { backfill: 3, type: "Failed", stateName: "Failed" }]);
  const ops: Parameters<typeof putOperation>[0] = [];
  for (const id of [3, 4]) putOperation(ops, "put_backfill", backfillRow(id, { total: 2, created_at: 9 }));
  store.writer.commit(request(store.writer, 2, { ops }));
  store.database.prepare("UPDATE runs SET parameters = json_object('day', '2026-01-0' || id)").run();
  t.strictSame(
    read(store, "backfills", { limit: 5 }).map(({ id }: { id: number }) => id),
    [4, 3],
  );
  t.strictSame(read(store, "backfill_values", { id: 3 }), [
    ["2026-01-01", 1, "Completed", "Completed"],
    ["2026-01-02", 2, "Failed", "Failed"],
  ]);
  t.strictSame(read(store, "backfill_values", { id: 4 }), []);
  t.equal(read(store, "backfill_values", { id: 5 }), null);
});

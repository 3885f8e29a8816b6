import t from "tap";
import type { Primitive } from "#protocol/wire/feed";
import { loadRun, readTexts } from "#storage/load/load-runs";
import { answersOfRun } from "#storage/queries/answers";
import { counts } from "#storage/queries/counts";
import { logsPage } from "#storage/queries/logs-page";
import { type QueryArguments, type QueryName, runQuery } from "#storage/queries/named";
import { buildLogBlocks, type LogLine, readLines } from "#storage/schema/log-blocks";
import { putOperation } from "#storage/write/ops";
import {
  openStore,
  putFlow,
  putRun,
  putTaskRun,
  type RunSpec,
  request,
  type Store,
  taskRow,
  uuid,
} from "../../support/storage-rows.ts";

const RUN: RunSpec = {
  ...{ id: 1, flow: 1, name: "one", tags: [], type: "Completed", stateName: "Skipped", created: 1, start: 1, end: 6 },
  ...{ scheduled: null, schedule: null, backfill: null },
};

function filled(write: (ops: Primitive[], logs: Primitive[]) => void): Store {
  const store = openStore();
  const ops: Primitive[] = [];
  const logs: Primitive[] = [];
  putFlow(ops, 1, "p", "a", '{"after":null,"retries":2}');
  write(ops, logs);
  store.writer.commit(request(store.writer, 1, { ops, logs }));
  return store;
}

function read<N extends QueryName>({ statements }: Store, name: N, args: QueryArguments[N]) {
  const text = runQuery(statements, name, args);
  return text === null ? null : JSON.parse(text);
}

function addLines(logs: Primitive[], run: number, lines: LogLine[]): void {
  const mask = lines.reduce((bits, [, level]) => bits | (1 << Math.floor(level / 10)), 0);
  logs.push(run, 0, lines.length, mask, JSON.stringify(lines));
}

t.test("log pages: after, level, search, task run and limit, over several blocks", async (t) => {
  const store = filled((ops, logs) => {
    putRun(ops, RUN);
    putTaskRun(ops, 5, 1, "Completed", "Completed");
    for (let block = 0; block < 130; block++) {
      const line = (index: number): LogLine => [
        index === 1 ? 5 : null,
        [10, 20, 40][index] ?? 0,
        "l",
        7,
        `Block ${block}% Line ${index}`,
      ];
      addLines(logs, 1, [line(0), line(1), line(2)]);
      addLines(logs, 2, [[null, 20, "other", 7, "of another run"]]);
    }
  });
  const page = (query: object, task: number | null = null) =>
    JSON.parse(logsPage(store.statements, 1, task, { id: task ?? 1, query: { limit: 1_000, ...query } }).text) as {
      items: { id: number; message: string }[];
      next_cursor: number | null;
    };
  t.equal(page({}).items.length, 390);
  t.equal(page({}).next_cursor, null);
  t.strictSame(page({ limit: 2 }).items[1], {
    ...{ id: 2, run_id: 1, task_run_id: 5, level: 20, logger: "l", message: "Block 0% Line 1", timestamp: 7 },
  });
  const seen: number[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const one: ReturnType<typeof page> = page({ limit: 7, after });
    seen.push(...one.items.map((item) => item.id));
    after = one.next_cursor;
  }
  t.strictSame(
    seen,
    page({}).items.map((item) => item.id),
    "pages visit each line once",
  );
  t.equal(page({ limit: 390 }).next_cursor, null, "an exactly full page");
  t.equal(page({ level: 30 }).items.length, 130);
  t.equal(page({ level: 41 }).items.length, 0);
  t.equal(page({}, 5).items.length, 130);
  t.strictSame(
    page({ search: "block 12% LINE 2" }).items.map((item) => item.message),
    ["Block 12% Line 2"],
  );
  t.equal(page({ search: "_" }).items.length, 0, "no wildcards");
  const ids = (query: object) => page(query).items.map((item) => item.id);
  for (const limit of [1, 4, 200, 390, 1_000]) t.strictSame(ids({ tail: true, limit }), ids({}).slice(-limit), `last ${limit}`);
  t.strictSame(ids({ tail: true, level: 30, limit: 70 }), ids({ level: 30 }).slice(-70));
  const middle = ids({})[300] ?? 0;
  t.strictSame(ids({ tail: true, after: middle }), ids({ after: middle }), "no line before `after`");
  t.equal(page({ tail: true, limit: 3 }).next_cursor, null, "nothing comes after the last line");
  t.equal(read(store, "task_run_logs", { id: 5, query: { limit: 1_000 } }).items.length, 130);
  t.equal(read(store, "run_logs", { id: 99, query: { limit: 1 } }), null, "an unknown run");
});

t.test("a run is read with its task runs, or alone for those who look at nothing else", async (t) => {
  const { statements } = filled((ops) => {
    putRun(ops, RUN);
    for (let id = 1; id <= 3; id++) putTaskRun(ops, id, 1, "Completed", "Completed");
  });
  t.equal(loadRun(statements, 1)?.task_runs.length, 3);
  t.match(loadRun(statements, 1, false), { run: { id: 1, state_name: "Skipped" }, task_runs: [] });
});

t.test("the texts of a run are read by themselves; empty ones are filled in", async (t) => {
  const { statements } = filled((ops) => {
    putRun(ops, { ...RUN, tags: ["a"], parameters: { day: 1 } });
    putRun(ops, { ...RUN, id: 2 });
  });
  const texts = { external_id: uuid(2, 1), name: "one", parameters: '{"day":1}', tags: '["a"]' };
  t.strictSame({ ...readTexts(statements, 1) }, texts);
  t.match(readTexts(statements, 2), { parameters: "{}", tags: "[]" });
  t.equal(readTexts(statements, 3), null);
});

t.test("log blocks: large entries are split and deflated, ids go on without gaps", async (t) => {
  const lines = (count: number, size: number): LogLine[] =>
    Array.from({ length: count }, (_, index) => [null, index % 2 === 0 ? 20 : 40, "l", index, `${index} ${"x".repeat(size)}`]);
  const many = lines(4_500, 10);
  const large = lines(3, 700_000);
  const entries: Primitive[] = [];
  for (const one of [many, large, []]) addLines(entries, 1, one);
  const { blocks, appended, nextLogId } = buildLogBlocks(entries, 11);
  t.equal(nextLogId, 11 + 4_503);
  t.strictSame(appended, [1, 4_510, 4_500, 1, 4_513, 3, 1, 4_513, 0]);
  t.strictSame(
    blocks.map((block) => [block.id, block.count]),
    [
      [2_010, 2_000],
      [4_010, 2_000],
      [4_510, 500],
      [4_511, 1],
      [4_512, 1],
      [4_513, 1],
    ],
  );
  t.strictSame(
    blocks.flatMap((block) => readLines(block.lines)),
    [...many, ...large],
  );
  t.strictSame(
    blocks.map((block) => block.level_mask),
    [20, 20, 20, 4, 16, 4],
  );
});

function putOneOfEach(ops: Primitive[]): void {
  putFlow(ops, 2, "p", "b", '{"after":{"flow":"a","flows":["a","c"],"key":"day"}}');
  putFlow(ops, 3, "q", "b", '{"after":{"flow":"a"}}');
  putRun(ops, { ...RUN, taskCounts: { Running: 1, Completed: 1 } });
  putRun(ops, { ...RUN, id: 2, type: "Running", stateName: "Running", end: null });
  putTaskRun(ops, 1, 1, "Completed", "Cached");
  const parents = JSON.stringify([uuid(3, 1), uuid(3, 99)]);
  putOperation(ops, "put_task_run", taskRow(2, 1, "Running", { name: "t", dynamic_key: "t-0", parents }));
  const artifact = { run_id: 1, created_at: 3, updated_at: 4 };
  const table = { id: 1, external_id: uuid(4, 1), task_run_id: 2, key: "k", kind: "table", data: '{"b":1,"a":2}' };
  putOperation(ops, "put_artifact", { ...artifact, ...table });
  const link = { id: 2, external_id: uuid(4, 2), task_run_id: null, key: null, kind: "link", data: "{}" };
  putOperation(ops, "put_artifact", { ...artifact, ...link });
  putOperation(ops, "count_runs", { flow_id: 1, state_type: "Completed", delta: 1 });
  putOperation(ops, "count_runs", { flow_id: 1, state_type: "Running", delta: 1 });
  putOperation(ops, "count_task_runs", { flow_id: 1, state_type: "Running", delta: 2 });
  putOperation(ops, "insert_answer", { run_id: 1, ordinal: 2, value: '{"b":1}', created_at: 4 });
  putOperation(ops, "insert_answer", { run_id: 1, ordinal: 1, value: '"first"', created_at: 3 });
}

t.test("flows, graph, artifacts, counts and answers have the fields of the interface in its order", async (t) => {
  const store = filled(putOneOfEach);
  const context = { live: [2], now_us: 1 };
  const [first, second, third] = read(store, "flow_summaries", { project: null, ...context });
  t.match(first, {
    id: 1,
    group: "p",
    live: false,
    triggers: ["b"],
    triggered_by: null,
    upstreams: [],
    batch_key: null,
    schedules: [],
  });
  t.strictSame(first.recent_runs, [
    [2, "Running", "Running", null],
    [1, "Completed", "Skipped", 5],
  ]);
  t.match(second, { live: true, triggers: [], triggered_by: "a", upstreams: ["a", "c"], batch_key: "day", recent_runs: [] });
  t.match(third, { triggers: [], upstreams: ["a"] }, "upstreams are of the own project");
  t.strictSame(read(store, "flow_summary", { id: 2, ...context }), second);
  t.equal(read(store, "flow_summary", { id: 9, ...context }), null);
  t.strictSame(read(store, "run", { id: 1 }).task_counts, { Running: 1, Completed: 1 });
  const graph = read(store, "run_graph", { id: 1 });
  t.strictSame(Object.keys(graph.nodes[0]), [
    "id",
    "external_id",
    "name",
    "dynamic_key",
    "state",
    "created_at",
    "start_time",
    "end_time",
  ]);
  t.strictSame(graph.edges, [{ from: 1, to: 2 }], "unknown parents are left out");
  t.match(read(store, "task_run", { id: 2 }), {
    parents: [uuid(3, 1), uuid(3, 99)],
    flow_name: "a",
    project: "p",
    run_name: "one",
  });
  t.match(runQuery(store.statements, "artifact", { id: 1 }), `"kind":"table","key":"k","data":{"b":1,"a":2},"created_at":3`);
  t.strictSame(read(store, "artifacts", { query: { limit: 1 } }).next_cursor, 2);
  t.match(read(store, "artifacts", { query: { limit: 5, key: "k", flow: "a" } }).items, [
    { id: 1, run_name: "one", flow_name: "a", project: "p" },
  ]);
  t.equal(read(store, "task_run_artifacts", { id: 2 }).length, 1);
  const all = JSON.parse(counts(store.statements, null));
  t.match(all, {
    runs: { Completed: 1, Running: 1, Paused: 0 },
    flows: { 1: { Completed: 1, Running: 1 } },
    task_runs: { Running: 2 },
    active: 1,
  });
  t.equal(Object.keys(all.runs).length, 9);
  t.match(JSON.parse(counts(store.statements, "none")), { flows: {}, task_runs: {}, active: 0 });
  t.match(JSON.parse(answersOfRun(store.statements, { id: 1 }).text), { input: { b: 1 }, inputs: ["first", { b: 1 }] });
  t.match(JSON.parse(answersOfRun(store.statements, { id: 2 }).text), { input: null });
});

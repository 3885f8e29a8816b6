/** Filters of lists with extreme values. */
import t from "tap";
import { SEARCHED_PARAMETERS_BYTES_MAX } from "#protocol/limits";
import type { RunsQuery } from "#protocol/records/run";
import { parseKeepingFractions } from "#protocol/values/json";
import type { Primitive } from "#protocol/wire/feed";
import { hasParameters } from "#storage/queries/parameter-filter";
import { runCounts } from "#storage/queries/run-counts";
import { runsPage } from "#storage/queries/runs-page";
import { taskRunsPage } from "#storage/queries/task-runs-page";
import { openStore, putFlow, putRun, putTaskRun, type RunSpec, request, type Store } from "../../support/storage-rows.ts";

const RUN: RunSpec = {
  ...{ id: 1, flow: 1, name: "one", tags: [], type: "Completed", stateName: "Completed", created: 1, start: 1, end: 6 },
  ...{ scheduled: null, schedule: null, backfill: null },
};

function filled(runs: readonly Partial<RunSpec>[]): Store {
  const store = openStore();
  const ops: Primitive[] = [];
  putFlow(ops, 1, "p", "a");
  for (const [index, run] of runs.entries()) putRun(ops, { ...RUN, id: index + 1, ...run });
  putTaskRun(ops, 1, 1, "Completed", "Completed");
  store.writer.commit(request(store.writer, 1, { ops }));
  return store;
}

function found({ statements }: Store, filters: Partial<RunsQuery>): number[] {
  const { text } = runsPage(statements, { query: { sort: "created_desc", limit: 50, ...filters } });
  return (JSON.parse(text) as { items: { id: number }[] }).items.map(({ id }) => id);
}

t.test("runs are found by as many tags as a request can name", async (t) => {
  const tags = Array.from({ length: 1_100 }, (_, index) => `tag-${index}`);
  const store = filled([{ tags }, { tags: tags.slice(1) }, { tags: [...tags, "more"] }]);
  t.same(found(store, { tags }), [3, 1]);
  t.same(found(store, { tags: [...tags, ...tags, "more"] }), [3], "a tag that is named twice counts once");
  t.same(found(store, { tags: [...tags, "unknown"] }), []);
  t.same(found(store, { tags: Array.from({ length: 1_100 }, () => "tag-0") }), [3, 1]);
  t.same(found(store, { states: Array.from({ length: 3_000 }, () => "Completed") }), [3, 2, 1]);
});

t.test("a NUL in a part of a name is a character like any other", async (t) => {
  const store = filled([{ name: "plain" }, { name: "with\0NUL" }]);
  t.same(found(store, { name: "\0" }), [2]);
  t.same(found(store, { name: "H\0nul" }), [2], "case ignored");
  t.same(found(store, { name: "\0plain" }), []);
  t.same(found(store, { search: "\0" }), [2]);
  const tasks = JSON.parse(taskRunsPage(store.statements, { query: { name: "\0", limit: 5 } }).text) as { items: unknown[] };
  t.same(tasks.items, []);
});

t.test("runs are found by the values of parameters, spelled as text or as JSON", async (t) => {
  const store = filled([
    { parameters: { customer: 7, region: "north" } },
    { parameters: { customer: "7", deep: { a: [1] } } },
    { parameters: { customer: 70, region: "7", on: true, "a.b": null, 0: "zero" } },
    { parameters: { customer: 7, long: "x".repeat(SEARCHED_PARAMETERS_BYTES_MAX) } },
  ]);
  for (const [parameters, expected] of [
    [{ customer: "7" }, [2, 1]],
    [{ customer: "7.0" }, [1]],
    [{ customer: '"7"' }, [2]],
    [{ customer: 7, region: "north" }, [1]],
    [{ on: "true" }, [3]],
    [{ "a.b": "null" }, [3]],
    [{ 0: "zero" }, [3]],
    [{ deep: '{"a":[1]}' }, [2]],
    [{ customer: "7'; DROP TABLE runs" }, []],
    [{ $: "7" }, []],
  ] as const) {
    t.same(found(store, { parameters }), expected, JSON.stringify(parameters));
    const counted = JSON.parse(runCounts(store.statements, { parameters })) as { total: number };
    t.equal(counted.total, expected.length);
    for (const run of [1, 2, 3, 4])
      t.equal(hasParameters(store.statements, run, parameters), (expected as readonly number[]).includes(run));
  }
});

t.test("runs are found by numbers as their creation wrote them", async (t) => {
  const written = ["7", "7.0", "7.00", "1e2", "-0.0", '{"a":2.0}', "[1.0,2]", "0.5"];
  const store = filled(
    written.map((text) => ({ parameters: parseKeepingFractions(`{"n":${text}}`) as Record<string, unknown> })),
  );
  for (const [n, expected] of [
    ["7", [2, 1]],
    ["7.0", [2, 1]],
    ["7.00", [3, 2, 1]],
    ["1e2", [4]],
    ["-0.0", [5]],
    ['{"a":2.0}', [6]],
    [" [1.0, 2]", [7]],
    ["0.50", [8]],
    ["1e300", []],
    ["7,7", []],
  ] as const)
    t.same(found(store, { parameters: { n } }), expected, n);
});

t.test("a page that is filtered by parameters looks through a bounded number of runs and leads on", async (t) => {
  const store = filled(Array.from({ length: 30 }, (_, index) => ({ parameters: { n: index } })));
  const page = (cursor?: number) => {
    const query = {
      sort: "created_desc",
      limit: 50,
      parameters: { n: "3" },
      ...(cursor === undefined ? {} : { cursor }),
    } as const;
    const { text } = runsPage(store.statements, { query }, { searchedMax: 10 });
    return JSON.parse(text) as { items: { id: number }[]; next_cursor: number | null };
  };
  const first = page();
  t.same(first.items, []);
  t.equal(first.next_cursor, 21);
  const last = page(page(first.next_cursor ?? 0).next_cursor ?? 0);
  t.match(last, { items: [{ id: 4 }], next_cursor: null });
});

t.test("a search has as many words as its length allows", async (t) => {
  const store = filled([{ name: "a b c" }]);
  t.same(found(store, { search: "a ".repeat(100) }), [1]);
  t.same(found(store, { search: `${"a ".repeat(99)}z` }), []);
});

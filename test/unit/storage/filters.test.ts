/** Filters of lists with extreme values. */
import t from "tap";
import type { RunsQuery } from "#protocol/records/run";
import type { Primitive } from "#protocol/wire/feed";
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

t.test("a search has as many words as its length allows", async (t) => {
  const store = filled([{ name: "a b c" }]);
  t.same(found(store, { search: "a ".repeat(100) }), [1]);
  t.same(found(store, { search: `${"a ".repeat(99)}z` }), []);
});

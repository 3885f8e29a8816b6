import t from "tap";
import { SEARCHED_LOG_BLOCKS_MAX, SEARCHED_LOG_BYTES_MAX } from "#protocol/limits";
import type { FoundLog, LogSearchPage } from "#protocol/records/log";
import type { Primitive } from "#protocol/wire/feed";
import { runQuery } from "#storage/queries/named";
import type { LogLine } from "#storage/schema/log-blocks";
import { openStore, putFlow, putRun, type RunSpec, request, type Store } from "../../support/storage-rows.ts";

const RUN: RunSpec = {
  ...{ id: 1, flow: 1, name: "one", tags: [], type: "Completed", stateName: "Completed", created: 1, start: 1, end: 6 },
  ...{ scheduled: null, schedule: null, backfill: null },
};

interface Block {
  run: number;
  lines: LogLine[];
}

/** Runs 1 and 3 are of flow 1, run 2 is of flow 2. */
function storeWith(blocks: readonly Block[]): Store {
  const store = openStore();
  const ops: Primitive[] = [];
  putFlow(ops, 1, "p", "a");
  putFlow(ops, 2, "q", "b");
  for (const id of [1, 2, 3]) putRun(ops, { ...RUN, id, name: `run-${id}`, flow: id === 2 ? 2 : 1 });
  const logs: Primitive[] = [];
  for (const { run, lines } of blocks) {
    const mask = lines.reduce((bits, [, level]) => bits | (1 << Math.floor(level / 10)), 0);
    logs.push(run, 0, lines.length, mask, JSON.stringify(lines));
  }
  store.writer.commit(request(store.writer, 1, { ops, logs }));
  return store;
}

function page({ statements }: Store, query: object): LogSearchPage {
  return JSON.parse(runQuery(statements, "log_search", { query: { limit: 100, ...query } }) ?? "null") as LogSearchPage;
}

/** All pages of a search. */
function all(store: Store, query: object): { items: FoundLog[]; searched: number; pages: number } {
  const seen = { items: [] as FoundLog[], searched: 0, pages: 0 };
  for (let after: number | undefined; ; ) {
    const { items, next_cursor, lines_searched } = page(store, { ...query, ...(after !== undefined && { after }) });
    seen.items.push(...items);
    seen.searched += lines_searched;
    seen.pages += 1;
    if (next_cursor === null) return seen;
    after = next_cursor;
  }
}

const MESSAGES = ["Loaded 7 rows", "größe 5 µm", 'quote " and \\ back', "a/b path", "\u0001 control x", "plain İ I i", ""];

function mixedBlocks(): Block[] {
  return Array.from({ length: 60 }, (_, at) => ({
    run: (at % 3) + 1,
    lines: Array.from({ length: (at % 7) + 1 }, (__, index): LogLine => {
      const number = at * 10 + index;
      return [null, [10, 20, 30, 40][number % 4] ?? 0, "l", 1_000 + number, `${MESSAGES[number % 7]} #${number}`];
    }),
  }));
}

t.test("a search finds what a look at every line finds, newest first, in pages of every size", async (t) => {
  const blocks = mixedBlocks();
  const store = storeWith(blocks);
  const lines = blocks
    .flatMap(({ run, lines: of }) => of.map((line) => ({ run, line })))
    .map((one, index) => ({ id: index + 1, ...one }));
  const texts = ["LOADED", "größe", "GRÖSSE", '"', "\\", "a/B", "\u0001", "control", "i", "#1", "no such text", "", undefined];
  for (const q of texts)
    for (const filter of [{}, { level: 30 }, { flow_id: 1 }, { run_id: 2 }, { run_id: 3, level: 20, flow_id: 1 }, { run_id: 9 }])
      for (const limit of [1, 4, 100]) {
        const { level = 0, flow_id = 0, run_id = 0 } = filter as { level?: number; flow_id?: number; run_id?: number };
        const expected = lines
          .filter(({ run }) => (run_id === 0 || run === run_id) && (flow_id === 0 || (run === 2 ? 2 : 1) === flow_id))
          .filter(({ line }) => line[1] >= level && line[4].toLowerCase().includes((q ?? "").toLowerCase()))
          .map(({ id }) => id)
          .reverse();
        const { items } = all(store, { ...filter, limit, ...(q !== undefined && { q }) });
        t.same(
          items.map(({ id }) => id),
          expected,
          `${q} ${JSON.stringify(filter)} by ${limit}`,
        );
      }
  t.equal(all(store, { q: "no such text" }).searched, lines.length, "every line is counted once");
  t.equal(all(store, { q: "#", limit: 3 }).searched, lines.length, "also over pages that end within a block");
});

t.test("a found line names its run and flow", async (t) => {
  const store = storeWith([{ run: 2, lines: [[null, 40, "shop", 77, "Card declined"]] }]);
  t.same(page(store, { q: "declined" }), {
    items: [
      {
        ...{ id: 1, run_id: 2, task_run_id: null, level: 40, logger: "shop", message: "Card declined", timestamp: 77 },
        ...{ run_name: "run-2", flow_name: "b", project: "q" },
      },
    ],
    next_cursor: null,
    lines_searched: 1,
    searched_until: null,
  });
});

t.test("lines of one project; a search before the first line looks at none", async (t) => {
  const lines: LogLine[] = [[null, 20, "l", 9, "m"]];
  const store = storeWith([1, 2, 3].map((run) => ({ run, lines })));
  t.same(
    all(store, { project: "q" }).items.map(({ run_id }) => run_id),
    [2],
  );
  t.same(all(store, { project: "none" }), { items: [], searched: 3, pages: 1 });
  for (const after of [1, 0, -5]) t.match(page(store, { after }), { items: [], next_cursor: null, lines_searched: 0 });
});

t.test("a page examines a bounded amount of text and says how far it came", async (t) => {
  const length = SEARCHED_LOG_BYTES_MAX / 8;
  const line = (at: number): LogLine => [null, 20, "l", 5_000 + at, at === 0 ? "needle" : "x".repeat(length)];
  const store = storeWith(Array.from({ length: 20 }, (_, at) => ({ run: 1, lines: [line(at)] })));
  const first = page(store, { q: "needle" });
  t.same(first, { items: [], next_cursor: 13, lines_searched: 8, searched_until: 5_012 }, "the newest eighths of the bound");
  const { items, pages } = all(store, { q: "needle" });
  t.same([items.map(({ id }) => id), pages], [[1], 3]);
  t.same(all(store, { run_id: 1, q: "needle" }).pages, 3, "the log of one run as well");
});

t.test("blocks that no filter lets through are bounded by their number", async (t) => {
  const lines: LogLine[] = [[null, 20, "l", 9, "m"]];
  const store = storeWith(Array.from({ length: SEARCHED_LOG_BLOCKS_MAX + 5 }, () => ({ run: 1, lines })));
  t.match(page(store, { flow_id: 2 }), { items: [], next_cursor: 6, lines_searched: SEARCHED_LOG_BLOCKS_MAX });
  t.match(page(store, { flow_id: 2, after: 6 }), { items: [], next_cursor: null, lines_searched: 5 });
});

t.test("lines that were deleted since do not stop a search that continues", async (t) => {
  const store = storeWith(mixedBlocks());
  const { next_cursor } = page(store, { limit: 5 });
  const before = all(store, { after: next_cursor }).items.length;
  t.ok(before > 0);
  store.statements.raw("DELETE FROM log_blocks WHERE id >= ?").run((next_cursor ?? 0) - 20);
  const left = all(store, { after: next_cursor }).items;
  t.ok(left.length > 0 && left.length < before && left.every(({ id }) => id < (next_cursor ?? 0)));
});

/** Queries that a reader cannot answer. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { Primitive } from "#protocol/wire/feed";
import { ReadPool, type ReadPoolOptions } from "#storage/read/read-pool";
import { openStore, putFlow, putRun, putRunEvent, type RunSpec, request } from "../../support/storage-rows.ts";

const RUN: RunSpec = {
  ...{ id: 1, flow: 1, name: "one", tags: [], type: "Completed", stateName: "Completed", created: 1, start: 1, end: 6 },
  ...{ scheduled: null, schedule: null, backfill: null },
};

function setup(t: Test, options: Partial<ReadPoolOptions>, write: (ops: Primitive[]) => void): { path: string; pool: ReadPool } {
  const path = join(t.testdir(), "db.sqlite");
  const store = openStore(path);
  const ops: Primitive[] = [];
  putFlow(ops, 1, "p", "a");
  write(ops);
  store.writer.commit(request(store.writer, 1, { ops }));
  store.database.close();
  const pool = new ReadPool({ path, threads: 1, ...options });
  t.teardown(() => pool.close());
  return { path, pool };
}

t.test("a reader whose heap is exhausted costs its query, and another one takes its place", async (t) => {
  const { pool } = setup(t, { heapMb: 40 }, (ops) => {
    // Events parse each tag into an object.
    putRun(ops, { ...RUN, tags: Array.from({ length: 300_000 }, (_, index) => `tag ${index}`) });
    putRunEvent(ops, "run.completed", 1, 1, "Completed", 1);
  });
  await pool.ready();
  await t.rejects(pool.run("event", { id: 1 }, 60_000), { name: "StorageError", fault: "reader", message: /memory/ });
  t.match(await pool.run("counts", { project: null }, 60_000), { bytes: Uint8Array, next: null });
});

t.test("a store that cannot be opened is no full queue", async (t) => {
  const { path, pool } = setup(t, {}, () => undefined);
  for (const end of ["", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
  await t.rejects(pool.run("run", { id: 1 }), {
    name: "StorageError",
    fault: "reader",
    message: /SQLITE_CANTOPEN|unable to open/,
  });
});

t.test("queries that wait in vain for a reader are told from those that take too long", async (t) => {
  const { pool } = setup(t, { queriesMax: 3 }, (ops) => putRun(ops, RUN));
  const outcomes = await Promise.allSettled(Array.from({ length: 12 }, () => pool.run("run", { id: 1 })));
  const faults = outcomes.map((outcome) => (outcome.status === "fulfilled" ? null : (outcome.reason as { fault: string }).fault));
  t.same(faults, [null, null, null, ...Array.from({ length: 9 }, () => "queue")]);
  await t.rejects(pool.run("run", { id: 1 }, 0), { name: "StorageError", fault: "query" });
});

import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { Primitive } from "#protocol/wire/feed";
import { putOperation } from "#storage/write/ops";
import { hasOldHistory, ROWS_PER_SLICE } from "#storage/write/trim-history";
import {
  eventRow,
  openStore,
  putFlow,
  putRun,
  putRunEvent,
  putTaskRun,
  request,
  type Store,
} from "../../../support/storage-rows.ts";

const OLD_US = 1_000_000;
const NEW_US = 9_000_000;
const BEFORE_US = 5_000_000;
const ENDED_RUN = {
  flow: 1,
  type: "Completed",
  stateName: "Completed",
  scheduled: null,
  schedule: null,
  backfill: null,
} as const;

function events(count: number, occurred: number): Primitive[] {
  const ops: Primitive[] = [];
  for (let index = 0; index < count; index += 1) {
    const resource = '{"id":"","kind":"custom","name":"a.b"}';
    putOperation(ops, "insert_event", eventRow("a.b", occurred, { resource, related: "[]", payload: "{}" }));
  }
  return ops;
}

function trim(lastEvent: number, stretches: number): Primitive[] {
  const ops: Primitive[] = [];
  putOperation(ops, "trim_history", { before: BEFORE_US, last_event: lastEvent, stretches });
  return ops;
}

t.test("old events and their log lines go slice by slice, never beyond the cursor of the rules", async (t) => {
  const { writer, statements } = openStore();
  const lines = JSON.stringify([[null, 20, "log", OLD_US, "old"]]);
  writer.commit(request(writer, 1, { ops: events(1_100, OLD_US), logs: [1, 0, 1, 1, lines] }));
  writer.commit(request(writer, 2, { ops: events(900, NEW_US), logs: [1, 0, 1, 1, lines] }));
  const count = (): number => statements.raw<[number]>("SELECT count(*) FROM events").get()?.[0] ?? 0;
  const first = (): number => statements.raw<[number]>("SELECT min(id) FROM events").get()?.[0] ?? 0;

  t.equal(hasOldHistory(statements, BEFORE_US, 200), false, "the rules have not looked at them");
  writer.commit(request(writer, 3, { ops: trim(600, 1) }));
  t.equal(first(), 256, "one stretch of ids");
  writer.commit(request(writer, 4, { ops: trim(600, 10) }));
  t.equal(first(), 512, "whole stretches below the cursor only");
  writer.commit(request(writer, 5, { ops: trim(2_000, 10) }));
  t.equal(first(), 1024, "a stretch with a newer event stays whole");
  t.equal(count(), 2_000 - 1_023);
  t.equal(hasOldHistory(statements, BEFORE_US, 2_000), false);
  t.equal(statements.raw<[number]>("SELECT count(*) FROM log_blocks").get()?.[0], 1, "its log lines have gone with them");
});

/** Deletes a slice like a sweep; returns the number of rows deleted from all tables. */
function slice(store: Store, number: number): number {
  const before = rows(store.statements);
  store.writer.commit(request(store.writer, number, { ops: trim(1_000_000, 4) }));
  return before - rows(store.statements);
}

const TABLES = ["events", "event_times", "event_chains", "stretches", "log_blocks", "firings", "expectations", "ended_counts"];

function rows(statements: Store["statements"]): number {
  const count = (table: string): number => statements.raw<[number]>(`SELECT count(*) FROM ${table}`).get()?.[0] ?? 0;
  return TABLES.reduce((sum, table) => sum + count(table), 0);
}

t.test("what rules and coarse indexes have left behind goes as well; what is not over stays", async (t) => {
  const store = openStore();
  const { writer, statements } = store;
  const ops: Primitive[] = events(1, OLD_US);
  putOperation(ops, "put_event_chain", { depth: 3 });
  ops.push(...events(1_099, OLD_US));
  for (let id = 1; id <= 1_500; id += 1) {
    const at = id <= 1_400 ? OLD_US : NEW_US;
    const firing = { id, rule_id: 1, event_id: id, run_id: 7, timestamp: at, outcomes: "[]" };
    putOperation(ops, "put_firing", { ...firing, pending: id === 5 ? "{}" : null });
    const status = id % 3 === 0 ? "open" : "met";
    const expectation = { id, rule_id: 1, key: `run:${id}`, armed_at: OLD_US, deadline: at, flow_id: null, run_id: id };
    putOperation(ops, "put_expectation", { ...expectation, status });
  }
  putFlow(ops, 1, "p", "f");
  for (const id of [7, 8])
    putRun(ops, { ...ENDED_RUN, tags: [], id, name: `run-${id}`, created: OLD_US, start: OLD_US, end: OLD_US });
  for (const id of [6, 7, 8]) putOperation(ops, "put_fired", { run_id: id, rule_id: 1 });
  putRunEvent(ops, "run.completed", 8, 1, "Completed", NEW_US);
  const ended = { ended_at: OLD_US, flow_id: 1, task_name: "", state_type: "Completed", state_name: "Completed" } as const;
  putOperation(ops, "count_ended", { ...ended, duration: 5, delta: 1 });
  writer.commit(request(writer, 1, { ops }));
  writer.commit(request(writer, 2, { ops: events(600, NEW_US) }));
  let number = 2;
  for (; hasOldHistory(statements, BEFORE_US, 1_000_000); number += 1)
    t.ok(slice(store, number + 1) <= 4 * 270 + 3 * ROWS_PER_SLICE, "no slice takes more than it may");
  t.ok(number < 20, "it comes to an end");
  const all = <Row>(sql: string): Row[] => statements.raw<Row>(sql).all();
  t.same(all("SELECT id FROM firings WHERE timestamp < 5000000"), [[5]], "one that waits for an answer");
  t.same(all("SELECT count(*) FROM firings"), [[101]]);
  t.same(all("SELECT count(*) FROM expectations WHERE status <> 'open' AND deadline < 5000000"), [[0]]);
  t.same(all("SELECT count(*) FROM expectations WHERE status = 'open'"), [[500]]);
  t.same(all("SELECT min(stretch) FROM stretches"), [[4]]);
  t.same(all("SELECT count(*) FROM event_chains"), [[0]]);
  t.same(all("SELECT run_id FROM fired"), [[7], [8]], "a rule stays one that has fired for runs that are there");
  const gone: Primitive[] = [];
  for (const id of [7, 8]) putOperation(gone, "delete_run", { id });
  writer.commit(request(writer, number + 1, { ops: gone }));
  const [[event] = [0]] = all<[number]>("SELECT id FROM events WHERE run_id = 8");
  writer.commit(request(writer, number + 2, { ops: trim(event - 1, 4) }));
  t.same(all("SELECT run_id FROM fired"), [[8]], "and for those of which rules have still to look at an event");
});

/** A flow with ended runs and their task runs. */
function seedTaskRuns(runs: number, tasksPerRun: number): Primitive[] {
  const ops: Primitive[] = [];
  putFlow(ops, 1, "p", "f");
  const _ended = {
    flow: 1,
    tags: [],
    type: "Completed",
    stateName: "Completed",
    scheduled: null,
    schedule: null,
    backfill: null,
  } as const;
  for (let id = 1; id <= runs; id += 1) {
    putRun(ops, { ...ENDED_RUN, tags: [], id, name: `run-${id}`, created: OLD_US, start: OLD_US, end: OLD_US });
    for (let task = 1; task <= tasksPerRun; task += 1) putTaskRun(ops, (id - 1) * tasksPerRun + task, id, "Completed", "Cached");
  }
  return ops;
}

t.test("the coarse index forgets task runs that were deleted with their runs", async (t) => {
  const store = openStore();
  const { writer, statements } = store;
  const RUNS = 40;
  writer.commit(request(writer, 1, { ops: seedTaskRuns(RUNS, 10) }));
  const indexed = (): number => statements.raw<[number]>("SELECT count(*) FROM stretches WHERE kind >= 3").get()?.[0] ?? 0;
  t.ok(indexed() > 0);
  const ops: Primitive[] = [];
  for (let id = 1; id <= RUNS; id += 1) putOperation(ops, "delete_run", { id });
  writer.commit(request(writer, 2, { ops }));
  t.equal(hasOldHistory(statements, 0, 0), true);
  slice(store, 3);
  t.equal(statements.raw<[number]>("SELECT max(stretch) FROM stretches WHERE kind >= 3 AND stretch = 0").get()?.[0], null);
  t.equal(hasOldHistory(statements, 0, 0), false);
});

t.test("the file gives the space back, a slice at a time", async (t) => {
  const folder = t.testdir();
  const path = join(folder, "db.sqlite");
  const store = openStore(path);
  const { writer, statements, database } = store;
  t.teardown(() => database.close());
  const line = (time: number): string => JSON.stringify([[null, 20, "log", time, randomBytes(6_000).toString("hex")]]);
  const size = (): number => {
    database.pragma("wal_checkpoint(TRUNCATE)");
    return statSync(path).size;
  };
  let number = 0;
  const write = (time: number): void => {
    number += 1;
    const logs = Array.from({ length: 100 }, () => [1, 0, 1, 1, line(time)]).flat();
    writer.commit(request(writer, number, { ops: events(256, time), logs }));
  };
  for (let batch = 0; batch < 24; batch += 1) write(OLD_US);
  for (let batch = 0; batch < 2; batch += 1) write(NEW_US);
  const full = size();
  const sizes: number[] = [];
  while (hasOldHistory(statements, BEFORE_US, 1_000_000)) {
    number += 1;
    slice(store, number);
    sizes.push(size());
  }
  t.ok(sizes.length > 6, "in slices");
  t.ok(
    Math.max(...sizes.map((each, index) => (sizes[index - 1] ?? full) - each)) <= 300 * 4_096,
    "a slice moves some 256 pages at most",
  );
  const last = sizes.at(-1) ?? full;
  t.ok(last < full / 2, `${full} bytes became ${last}`);
  t.equal(database.pragma("integrity_check"), "ok");
});

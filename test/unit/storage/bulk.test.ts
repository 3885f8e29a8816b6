/** Operations for many rows store the same as the operations of single rows. */
import t from "tap";
import { writeUuid } from "#protocol/values/uuid";
import type { Primitive } from "#protocol/wire/feed";
import { type NewRunRow, putOperation } from "#storage/write/ops";
import { operationAt, singleOperations } from "../../support/bulk-operations.ts";
import { openStore, putFlow, putRunEvent, request, uuid } from "../../support/storage-rows.ts";

const COUNT = 600;
const FIRST = 250;
const TAGS = ["nightly", "backfill:1"];

function backfill(ops: Primitive[], depth: number): void {
  const ids = new Uint8Array(16 * COUNT);
  for (let index = 0; index < COUNT; index += 1) writeUuid(uuid(3, FIRST + index), ids, 16 * index);
  const values = Array.from({ length: COUNT }, (_, index) => `${new Date(index * 60_000).toISOString().slice(0, 19)}Z`);
  putOperation(ops, "insert_backfill_runs", {
    first_id: FIRST,
    count: COUNT,
    external_ids: ids,
    flow_id: 1,
    tags: JSON.stringify(TAGS),
    priority: 5,
    created_by: "backfill:1",
    created_at: 1_700_000_000_000_000,
    backfill_id: 1,
    name_head: "über-",
    parameters_head: '{"a":"ß","at":"',
    parameters_tail: '","z":1}',
    values: values.join(""),
  });
  putOperation(ops, "insert_run_events", {
    name: "run.scheduled",
    occurred: 1_700_000_000_000_000,
    first_run_id: FIRST,
    count: COUNT,
    flow_id: 1,
    state_type: "Scheduled",
    rule_depth: depth,
  });
}

/** New runs of two flows, with and without tags, in turns. */
function newRuns(ops: Primitive[], depth: number): void {
  const ids = new Uint8Array(16 * COUNT);
  for (let index = 0; index < COUNT; index += 1) writeUuid(uuid(3, FIRST + index), ids, 16 * index);
  const rows = Array.from({ length: COUNT }, (_, index): NewRunRow => {
    const parameters = index % 5 === 0 ? null : `{"at":${index},"text":"\u00df\\u0000"}`;
    const tags = index % 3 === 0 ? JSON.stringify(TAGS) : null;
    return [1 + (index % 2), index % 4, `\u00fc-${index}`, "cli", tags, parameters];
  });
  const head = { first_id: FIRST, count: COUNT, external_ids: ids, created_at: 1_700_000_000_000_000 };
  putOperation(ops, "insert_new_runs", { ...head, rows: JSON.stringify(rows), rule_depth: depth });
}

/** All rows of the tables with runs and their events. */
function stored(ops: Primitive[]): Record<string, unknown[]> {
  const { database, writer } = openStore();
  const before: Primitive[] = [];
  putFlow(before, 1, "p", "f");
  putFlow(before, 2, "p", "g");
  // Assign codes to names here, so that the order of later names does not matter.
  for (const name of ["run.late", "run.scheduled", "run.running", ...TAGS]) putRunEvent(before, name, 1, 1, "Scheduled", 5);
  putRunEvent(ops, "run.running", FIRST, 1, "Running", 6);
  writer.commit(request(writer, 1, { ops: [...before, ...ops] }));
  const tables = ["runs", "run_tags", "events", "event_chains", "stretches", "event_times", "run_times", "counters", "names"];
  return Object.fromEntries(tables.map((table) => [table, database.prepare(`SELECT * FROM ${table}`).all()]));
}

/** The same operations, one row at a time. */
function single(ops: readonly Primitive[]): Primitive[] {
  const all: Primitive[] = [];
  for (let at = 0; at < ops.length; ) {
    const { name, values } = operationAt(ops, at);
    all.push(...singleOperations(name, values));
    at += values.length + 1;
  }
  return all;
}

t.test("the runs of a backfill and the events of their creation", async (t) => {
  for (const depth of [0, 2]) {
    const ops: Primitive[] = [];
    backfill(ops, depth);
    const rows = stored(single(ops));
    t.equal(rows["runs"]?.length, COUNT);
    t.equal(rows["run_tags"]?.length, COUNT * TAGS.length);
    t.equal(rows["event_chains"]?.length, depth === 0 ? 0 : COUNT);
    t.same(stored(ops), rows, `depth ${depth}`);
  }
});

t.test("new runs of several flows and the events of their creation", async (t) => {
  for (const depth of [0, 2]) {
    const ops: Primitive[] = [];
    newRuns(ops, depth);
    const rows = stored(single(ops));
    t.equal(rows["runs"]?.length, COUNT);
    t.equal(rows["run_tags"]?.length, (COUNT / 3) * TAGS.length);
    t.equal(rows["event_chains"]?.length, depth === 0 ? 0 : COUNT);
    t.same(stored(ops), rows, `depth ${depth}`);
  }
});

/** The events to which a wait of a durable run looks back. */
import t from "tap";
import type { Primitive } from "#protocol/wire/feed";
import { eventsBefore } from "#storage/load/lineage-events";
import { putOperation } from "#storage/write/ops";
import { eventRow, openStore, putFlow, putRun, putRunEvent, request } from "../../support/storage-rows.ts";

const [STARTED_US, RESUMED_US] = [1_000_000, 8_000_000];
const RUN = { flow: 1, type: "Running", stateName: "Running", scheduled: null, schedule: null, backfill: null } as const;

function paid(ops: Primitive[], count: number, occurred: number): void {
  const resource = '{"id":"","kind":"custom","name":"paid"}';
  const row = eventRow("paid", occurred, { resource, related: "[]", payload: "{}" });
  for (let index = 0; index < count; index += 1) putOperation(ops, "insert_event", row);
}

/** A run that started after event 3, slept for 600 events, and went on. */
function storeOf(start: number | null) {
  const store = openStore();
  const ops: Primitive[] = [];
  putFlow(ops, 1, "p", "f");
  putRun(ops, { ...RUN, tags: [], id: 1, name: "one", created: 1, start, end: null });
  paid(ops, 3, STARTED_US - 1);
  putRunEvent(ops, "run.running", 1, 1, "Running", STARTED_US);
  paid(ops, 600, STARTED_US + 1);
  putRunEvent(ops, "run.running", 1, 1, "Running", RESUMED_US);
  paid(ops, 5, RESUMED_US + 1);
  store.writer.commit(request(store.writer, 1, { ops }));
  const found = () => [...eventsBefore(store.statements, { name: "paid", lineage: 1, after: 0, to: 10_000 })].map(({ id }) => id);
  return { ...store, found };
}

t.test("what came before the first start of the run does not count", async (t) => {
  const { found } = storeOf(STARTED_US);
  const ids = found();
  t.equal(ids[0], 5);
  t.equal(ids.length, 605);
  t.same(storeOf(null).found(), [], "a run that has not started looks back to nothing");
});

t.test("when retention has deleted the first start of a run, every event that is left counts", async (t) => {
  const { writer, found } = storeOf(STARTED_US);
  const ops: Primitive[] = [];
  putOperation(ops, "trim_history", { before: STARTED_US + 2, last_event: 10_000, stretches: 1 });
  writer.commit(request(writer, 2, { ops }));
  const ids = found();
  t.equal(ids[0], 256, "from the first stretch that is kept on, also before the run went on");
  t.equal(ids.at(-1), 610);
});

/** Lineage 2 was forked from lineage 1, without what was armed at or after `before`; both had events, and 1 used two of them. */
function forkOf(before: number) {
  const store = openStore();
  const ops: Primitive[] = [];
  putFlow(ops, 1, "p", "f");
  putRun(ops, { ...RUN, tags: [], id: 1, name: "one", created: 1, start: STARTED_US, end: null });
  paid(ops, 1, STARTED_US - 1);
  putRunEvent(ops, "run.running", 1, 1, "Running", STARTED_US);
  paid(ops, 3, STARTED_US + 1);
  for (const [id, created_at, event_id] of [
    [1, STARTED_US + 2, 3],
    [2, STARTED_US + 5, 4],
  ] as const)
    putOperation(ops, "put_wait", {
      ...{ id, lineage_id: 1, identity: String(id).padStart(32, "0"), place: "0".repeat(32), kind: "event", name: "paid" },
      ...{ spec: '{"event":"paid"}', due: null, child_lineage_id: null, token_hash: null, created_at, event_id },
      ...{ settled_at: created_at, outcome: '{"kind":"event"}' },
    });
  const called = { depth: 0, caller_wait: null, on_parent_end: null };
  putOperation(ops, "put_lineage", { id: 2, origin_id: 1, before_task: 9, before_time: before, ...called });
  putRun(ops, { ...RUN, tags: [], id: 2, name: "two", created: 1, start: RESUMED_US, end: null });
  putRunEvent(ops, "run.running", 2, 1, "Running", RESUMED_US);
  paid(ops, 1, RESUMED_US + 1);
  store.writer.commit(request(store.writer, 1, { ops }));
  return [...eventsBefore(store.statements, { name: "paid", lineage: 2, after: 0, to: 100 })].map(({ id }) => id);
}

t.test("a retry goes on from the start of its origin, without the events that the waits it sees have used", async (t) => {
  t.same(forkOf(RESUMED_US), [5, 7], "what came between the two runs, and since");
  t.same(forkOf(STARTED_US + 3), [4, 5, 7], "a wait that is armed again may have the event that it had");
});

/** The events to which a wait of a durable run looks back. */
import t from "tap";
import type { Primitive } from "#protocol/wire/feed";
import { eventsBefore } from "#storage/load/load-events";
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

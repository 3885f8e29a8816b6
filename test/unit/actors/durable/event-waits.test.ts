/** What the core keeps in memory of open waits: what an event is compared with, and the waits of a lineage. */
import t from "tap";
import { filterOf, isAwaited } from "#actors/core/state/awaited-event";
import { DurableBook, type StoredWait } from "#actors/core/state/durable";
import { operations } from "../../../support/decision-record.ts";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { arm, identityOf, parkOf, send, startDurable } from "../../../support/durable-steps.ts";

const EVENT = {
  id: 7,
  name: "order.paid",
  occurred: 1,
  run_id: 3,
  payload: { order: { id: 5, parts: [1, { b: 1, a: 2 }] }, by: null },
};

const filter = (where: Record<string, unknown> | null) => filterOf(JSON.stringify({ event: "order.paid", where }));

t.test("a filter compares values of the event by their path, as JSON", async (t) => {
  const matches = (where: Record<string, unknown> | null) => isAwaited(filter(where), EVENT);
  t.ok(matches(null));
  t.ok(matches({}));
  t.ok(matches({ "payload.order.id": 5, run_id: 3 }));
  t.ok(matches({ "payload.order.parts": [1, { a: 2, b: 1 }] }), "in any order of keys");
  t.ok(matches({ "payload.by": null }));
  t.notOk(matches({ "payload.order.id": "5" }));
  t.notOk(matches({ "payload.to": null }), "a path that the event does not have is not null");
  t.notOk(matches({ "payload.by.name": null }));
  t.notOk(matches({ "payload.order.id": 5, run_id: 4 }), "all of them have to be equal");
  t.notOk(isAwaited(undefined, EVENT), "a wait that is not open");
});

function waitOf(id: number, where: unknown): StoredWait {
  const none = { due: null, child_lineage_id: null, token_hash: null, settled_at: null, outcome: null, event_id: null };
  const spec = JSON.stringify({ event: "order.paid", where });
  return { ...none, id, lineage_id: 1, identity: identityOf(id), place: "", kind: "event", name: "w", spec, created_at: 1 };
}

t.test("the text of a filter is parsed once, when its wait is opened", async (t) => {
  const none = () => null;
  const reader = { readLineage: none, hasRows: () => false, findWait: none, newestRunOf: none, isEventOf: () => false };
  const book = new DurableBook(reader, () => 7, { recallLineages: none, recallWaits: none, recallCallback: none });
  const wait = waitOf(1, { "payload.order.id": 5 });
  book.open(wait, 0);
  const parsed = book.filterOf(wait);
  t.ok(parsed);
  t.equal(book.filterOf(wait), parsed, "the same object for every event");
  t.notOk(book.isCandidate(wait, EVENT), "the store is asked for an event that is not newer than the wait");
  t.ok(book.isCandidate(wait, { ...EVENT, id: 8 }));
  book.close(wait, { ...wait, settled_at: 2 }, 1);
  t.equal(book.filterOf(wait), undefined, "nothing is left of a wait that has ended");
  t.notOk(book.awaits("order.paid"));
});

t.test("a park for the most waits that may be open looks each up by its identity", async (t) => {
  const kit = new DispatchKit();
  const held = startDurable(kit);
  const waits = Array.from({ length: 1_000 }, (_, index) => ({ wait: index + 1, kind: "event", event: `e-${index}` }));
  arm(kit, held, waits);
  const lineage = kit.state.durable.get(held.id);
  t.equal(lineage.waits.size, 1_000);
  t.equal(lineage.waits.get(identityOf(700))?.name, "wait-700");
  const parked = send(kit, held, [
    parkOf(
      kit,
      3,
      waits.map(({ wait }) => wait),
    ),
  ]);
  t.match(parked.reply?.body, { run_state: { name: "AwaitingEvent" } });
  t.equal(arm(kit, held, [{ wait: 1_001, kind: "event", event: "e" }]).reply?.status, 409);
  const cancelled = kit.send("CancelRun", { target: held.id });
  t.equal(operations(cancelled, "settle_wait").length, 1_000);
  t.equal(kit.state.durable.openWaits()[Symbol.iterator]().next().done, true);
});

t.test("an answer keeps the digits of a large integer", async (t) => {
  const kit = new DispatchKit();
  const held = startDurable(kit);
  arm(kit, held, [{ wait: 1, kind: "input", question: { prompt: "Which?" } }]);
  send(kit, held, [parkOf(kit, 3, [1])]);
  const answered = kit.send("ResumeRun", { target: held.id, body: { input: { account: 12345678901234567890n } } });
  t.match(operations(answered, "settle_wait"), [{ outcome: '{"kind":"answered","value":{"account":12345678901234567890}}' }]);
});

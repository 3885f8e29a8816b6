/** The actions of a step: which of them need a reader, and what happens to those that a reader does not finish. */
import t from "tap";
import { ActionPlan } from "#actors/rule-engine/reactions/plan";
import type { RuleAction } from "#protocol/records/rule";
import { completeSpec, type FullSpec } from "#protocol/records/rule-spec";
import type { SeenEvent } from "#storage/load/load-events";

const EVENT = { id: 7, record: () => '{"id":7}' } as SeenEvent;

function spec(...actions: RuleAction[]): FullSpec {
  const checked = completeSpec({ do: actions }, () => null);
  if (!checked.ok) throw new Error(checked.error);
  return checked.spec;
}

const WEBHOOK = { kind: "webhook", url: "http://127.0.0.1/" } as const;
const TEMPLATE = { ...WEBHOOK, body: { deep: ["{{ payload.x }}"] } } as const;

function answer(...texts: string[]): string {
  return JSON.stringify(texts.map((body) => ({ action: { kind: "webhook", body } })));
}

t.test("actions without expressions are ready at once; a webhook without a body carries the event", async (t) => {
  const plan = new ActionPlan();
  const planned = plan.add(spec({ kind: "cancel_run" }, WEBHOOK, { ...WEBHOOK, body: "" }), EVENT);
  t.same(plan.question(), []);
  t.match(planned, [
    { index: 0, kind: "cancel_run", action: { body: null } },
    { index: 1, kind: "webhook", action: { body: '{"id":7}' } },
    { index: 2, action: { body: "" } },
  ]);
});

t.test("a reader answers about as many as it has done, and is asked for the rest", async (t) => {
  const plan = new ActionPlan();
  const planned = plan.add(spec(TEMPLATE, { kind: "cancel_run" }, TEMPLATE, { kind: "email", to: ["a@b.c"] }), EVENT);
  t.equal(plan.question().length, 3, "mail without a text of its own is filled in as well");
  t.match(plan.question()[0], { event: 7, action: JSON.stringify(spec(TEMPLATE).do[0]) });
  plan.take(answer("first"));
  t.equal(plan.question().length, 2);
  plan.take(answer("second", "third"));
  t.same(plan.question(), []);
  t.match(planned, [
    { action: { body: "first" } },
    { kind: "cancel_run" },
    { action: { body: "second" } },
    { index: 3, kind: "email" },
  ]);
});

t.test("without an answer the first is tried alone; it fails the second time and the others go on", async (t) => {
  const plan = new ActionPlan();
  const planned = plan.add(spec(TEMPLATE, TEMPLATE), EVENT);
  plan.fail("took longer than 2000 ms");
  t.equal(plan.question().length, 1);
  plan.fail("took longer than 2000 ms");
  t.equal(plan.question().length, 1);
  t.equal(planned.length, 1);
  plan.take(answer("second"));
  t.same(plan.question(), []);
  t.match(planned, [
    { index: 0, kind: "webhook", error: "took longer than 2000 ms" },
    { index: 1, action: { body: "second" } },
  ]);
});

t.test("one that succeeds alone is no longer suspected", async (t) => {
  const plan = new ActionPlan();
  plan.add(spec(TEMPLATE, TEMPLATE, TEMPLATE), EVENT);
  plan.fail("busy");
  plan.take(answer("first"));
  t.equal(plan.question().length, 2);
});

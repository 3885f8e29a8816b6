/** Requests with an Idempotency-Key: the first answer is given again, from memory until its commit, then from the store. */
import t from "tap";
import { Turn } from "#actors/core/turn";
import type { Primitive } from "#protocol/wire/feed";
import { Outbox } from "#runtime/effect";
import { findIdempotency } from "#storage/load/load";
import { putOperation } from "#storage/write/ops";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { createId } from "../../../support/dispatch-steps.ts";
import { eventRow, openStore, request } from "../../../support/storage-rows.ts";

const idempotency = { key: "k", fingerprint: "f" };

t.test("until its commit, an answer is repeated from memory; an event has no id yet", async (t) => {
  const kit = new DispatchKit();
  createId(kit);
  kit.committed = kit.turn;
  const create = (fingerprint: string) =>
    kit.send("CreateFlowRun", { target: 1, body: {}, idempotency: { key: "run", fingerprint } });
  const made = create("f");
  t.match(made.reply, { status: 201, body: { id: 2 } });
  t.match(create("f"), { reply: { status: 201, body: { id: 2 } }, ops: [] });
  t.match(create("other"), { reply: { status: 409 }, ops: [] });
  const emit = () => kit.send("EmitEvent", { body: { name: "a.b" }, idempotency });
  const emitted = emit();
  t.same(emitted.stream, [{ kind: "event.created", id: emitted.command }], "the event is the answer of the command");
  t.match(emit(), { reply: { status: 503 }, ops: [] });
});

t.test("the store keeps an answer that is JSON as text, and one that is an event as the event's id", async (t) => {
  const { writer, statements } = openStore();
  const ops: Primitive[] = [];
  const kept = { created_at: 1, fingerprint: "f", status: 201 };
  putOperation(ops, "put_idempotency", { key: "run", ...kept, body: '{"id":7}' });
  for (let event = 0; event < 3; event += 1) putOperation(ops, "insert_event", eventRow("a.b", 1));
  putOperation(ops, "put_idempotency", { key: "event", ...kept, body: null });
  writer.commit(request(writer, 1, { ops }));
  t.same(findIdempotency(statements, "run")?.body, { kind: "json", text: '{"id":7}' });
  t.same(findIdempotency(statements, "event")?.body, { kind: "event", id: 3 });
  t.equal(findIdempotency(statements, "none"), null);

  const storedAnswers = (key: string) => findIdempotency(statements, key);
  const { state, nowUs } = new DispatchKit({ storedAnswers });
  const ids = { uuid: () => "", random: () => 0 };
  const turn = new Turn(state, nowUs, ids, new Outbox(), 1);
  t.equal(turn.answers.again({ id: 5, idempotency: { key: "run", fingerprint: "f" } }), true);
  t.equal(turn.answers.again({ id: 6, idempotency: { key: "event", fingerprint: "f" } }), true);
  t.equal(turn.answers.again({ id: 7, idempotency: { key: "none", fingerprint: "f" } }), false);
  t.same(turn.decision.replies, [5, 201, '{"id":7}', 6, 201, 3], "a number is the event that is the body");
});

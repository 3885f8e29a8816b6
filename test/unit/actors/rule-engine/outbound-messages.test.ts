/** Outbound messages of rules: stored as rows before they are sent, sent again until answered. */

import t from "tap";
import { OUTBOUND } from "#actors/names";
import type { React } from "#actors/rule-engine/rule-messages";
import { completeSpec } from "#protocol/records/rule-spec";
import { operations } from "../../../support/decision-record.ts";
import { DispatchKit } from "../../../support/dispatch-kit.ts";

const WEBHOOK = { kind: "webhook", url: "http://127.0.0.1/" } as const;

/** The rule engine's message that the only rule fires for an event with these actions. */
function fires(kit: DispatchKit, event: number, actions: object[]): React {
  const checked = completeSpec({ do: actions as [] }, () => null);
  if (!checked.ok) throw new Error(checked.error);
  const planned = checked.spec.do.map((action, index) => ({ index, kind: action.kind, action }));
  const trigger = { event_id: event, name: "a.b", run_id: null, flow_id: null, project: null, depth: 0 };
  const reaction = { kind: "fire", rule_id: 1, trigger, created_by: null, actions: planned } as const;
  const { cursor } = kit.state.rules;
  return { kind: "React", core: kit.epoch, from: cursor, to: event, reactions: [reaction] };
}

t.test("a message leaves when its row is committed, and its answer lets the firing go on", async (t) => {
  const kit = new DispatchKit();
  kit.send("CreateRule", { body: { name: "r", do: [WEBHOOK] } });
  kit.committed = kit.turn;
  const fired = kit.tell(fires(kit, 5, [WEBHOOK, { kind: "cancel_run" }]));
  t.same(fired.outbound, [], "not before its row is committed");
  const [row] = operations(fired, "put_outbound");
  t.match(row, { id: 1, firing_id: 1, rule_id: 1, action: 0, kind: "webhook" });
  t.same(kit.tell({ kind: "SendOutbound" }).outbound, []);
  kit.committed = null;
  const sent = kit.tell({ kind: "SendOutbound" });
  t.match(sent.outbound, [{ kind: "WebhookRequest", id: 1, firing_id: 1, headers: { "idempotency-key": /^0{8}-/ } }]);
  t.same(kit.tell({ kind: "SendOutbound" }).outbound, [], "once");

  const done = kit.tell({ kind: "OutboundDone", id: 1, firing_id: 1, result: { detail: { status: 200 } } });
  t.match(operations(done, "delete_outbound"), [{ id: 1 }]);
  const [firing] = operations(done, "put_firing");
  t.match(JSON.parse(String(firing?.["outcomes"])), [{ status: "completed" }, { status: "failed", kind: "cancel_run" }]);
  t.equal(firing?.["pending"], null);
  const again = kit.tell({ kind: "OutboundDone", id: 1, firing_id: 1, result: { detail: { status: 200 } } });
  t.same(again.ops, [], "a repeated answer changes nothing");
});

t.test("a restarted actor gets the messages that its former life had not answered, and nothing else", async (t) => {
  const kit = new DispatchKit();
  kit.send("CreateRule", { body: { name: "r", once: "never", do: [WEBHOOK] } });
  kit.tell(fires(kit, 5, [WEBHOOK]));
  kit.tell(fires(kit, 6, [WEBHOOK]));
  const first = kit.tell({ kind: "SendOutbound" }).outbound;
  t.equal(first.length, 2);
  kit.tell({ kind: "OutboundDone", id: 1, firing_id: 1, result: { error: "refused" } });
  kit.committed = kit.turn;
  kit.tell(fires(kit, 7, [WEBHOOK]));
  const again = kit.tell({ kind: "ReceiverStarted", receiver: OUTBOUND });
  t.same(again.outbound, first.slice(1), "the same message under the same key");
  t.same(kit.tell({ kind: "ReceiverStarted", receiver: "user-code" }).outbound, []);
  kit.committed = null;
  t.match(kit.tell({ kind: "SendOutbound" }).outbound, [{ id: 3 }], "what is not committed yet waits for that");
});

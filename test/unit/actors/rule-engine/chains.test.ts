/** Chains of rules: whatever a rule creates carries the length of its chain; beyond eight rules, actions fail. */
import t from "tap";
import type { React } from "#actors/rule-engine/rule-messages";
import { RULE_CHAIN_DEPTH_MAX } from "#protocol/limits";
import type { RuleAction } from "#protocol/records/rule";
import { completeSpec } from "#protocol/records/rule-spec";
import { type DecisionRecord, operations } from "../../../support/decision-record.ts";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { create, createId, move } from "../../../support/dispatch-steps.ts";

const WEBHOOK = { kind: "webhook", url: "http://127.0.0.1/" } as const;

/** The rule engine's message that the only rule fires for an event with this chain length. */
function fires(kit: DispatchKit, depth: number, actions: RuleAction[], runId: number | null = null): React {
  const checked = completeSpec({ do: actions }, () => null);
  if (!checked.ok) throw new Error(checked.error);
  const planned = checked.spec.do.map((action, index) => ({ index, kind: action.kind, action }));
  const { cursor, nextIds } = kit.state.rules;
  const trigger = { event_id: nextIds.event - 1, name: "a.b", run_id: runId, flow_id: null, project: null, depth };
  const reaction = { kind: "fire", rule_id: 1, trigger, created_by: null, actions: planned } as const;
  return { kind: "React", core: kit.epoch, from: cursor, to: nextIds.event - 1, reactions: [reaction] };
}

function kitWithRule(): DispatchKit {
  const kit = new DispatchKit();
  kit.send("CreateRule", { body: { name: "r", once: "never", max_per_minute: 0, do: [WEBHOOK] } });
  create(kit, { flow: "f" });
  return kit;
}

/** Chain lengths by event name; events without a chain have no row. */
function eventDepths(record: DecisionRecord): [string, number][] {
  return record.ops.flatMap((operation, at) => {
    const next = record.ops[at + 1];
    return operation.op === "insert_event" && next?.op === "put_event_chain"
      ? [[String(operation["name"]), Number(next["depth"])]]
      : [];
  });
}

t.test("a run that a rule creates, and its event, come from one rule more", async (t) => {
  const kit = kitWithRule();
  const fired = kit.tell(fires(kit, 2, [{ kind: "run_flow", flow: "f" }]));
  const [run] = operations(fired, "insert_run");
  t.match(operations(fired, "put_chain"), [{ run_id: run?.["id"], depth: 3 }]);
  t.same(eventDepths(fired), [["run.scheduled", 3]], "events about the rule never make rules act");
});

t.test("each action of a step continues the chain of its own event", async (t) => {
  const kit = kitWithRule();
  const react = fires(kit, 2, [{ kind: "run_flow", flow: "f" }]);
  const longer = fires(kit, 5, [{ kind: "run_flow", flow: "f" }]);
  const fired = kit.tell({ ...react, reactions: [...react.reactions, ...longer.reactions] });
  t.match(operations(fired, "put_chain"), [{ depth: 3 }, { depth: 6 }]);
  t.same(eventDepths(fired), [
    ["run.scheduled", 3],
    ["run.scheduled", 6],
  ]);
});

t.test("what follows from such a run stays in the chain: downstream runs, reruns and retries", async (t) => {
  const kit = kitWithRule();
  create(kit, { flow: "after", options: { after: { flow: "f" } } });
  const fired = kit.tell(fires(kit, 4, [{ kind: "run_flow", flow: "f" }]));
  const id = Number(operations(fired, "insert_run")[0]?.["id"]);
  const completed = move(kit, id, "Completed", { force: true });
  const [downstream] = operations(completed, "insert_run");
  t.match(operations(completed, "put_chain"), [{ run_id: downstream?.["id"], depth: 5 }]);
  const retried = kit.send("RetryRun", { target: id });
  t.match(operations(retried, "put_chain"), [{ depth: 5 }]);
});

t.test("a run that a rule moves continues the longer of both chains", async (t) => {
  const kit = kitWithRule();
  const id = createId(kit);
  const set = (depth: number) => kit.tell(fires(kit, depth, [{ kind: "set_state", state_type: "Failed" }], id));
  t.match(operations(set(6), "put_chain"), [{ run_id: id, depth: 7 }]);
  kit.send("EmitEvent", { body: { name: "a.b" } });
  t.same(operations(set(1), "put_chain"), []);
});

t.test("an action at the end of the longest chain fails and says why; the one before is done", async (t) => {
  const kit = kitWithRule();
  const last = kit.tell(fires(kit, RULE_CHAIN_DEPTH_MAX - 1, [{ kind: "run_flow", flow: "f" }]));
  t.equal(operations(last, "insert_run").length, 1);
  const beyond = kit.tell(fires(kit, RULE_CHAIN_DEPTH_MAX, [{ kind: "run_flow", flow: "f" }, WEBHOOK]));
  t.same([operations(beyond, "insert_run"), operations(beyond, "put_outbound")], [[], []]);
  const outcomes = JSON.parse(String(operations(beyond, "put_firing")[0]?.["outcomes"])) as { error: string }[];
  for (const { error } of outcomes) t.match(error, /chain of rules .* longer than 8/);
  t.equal(outcomes.length, 2);
});

t.test("a webhook carries the depth, and what it asks for here is part of the chain", async (t) => {
  const kit = kitWithRule();
  kit.tell(fires(kit, 3, [WEBHOOK]));
  const { outbound } = kit.tell({ kind: "SendOutbound" });
  t.match(outbound, [{ headers: { "millrace-rule-depth": "4" } }]);
  const emitted = kit.send("EmitEvent", { body: { name: "a.b" }, ruleDepth: 4 });
  t.same(eventDepths(emitted), [["a.b", 4]]);
  const created = kit.send("CreateRun", { body: { flow: "f", project: "shop" }, ruleDepth: 4 });
  t.match(operations(created, "put_chain"), [{ depth: 4 }]);
  t.same(eventDepths(created), [["run.scheduled", 4]]);
  t.same(eventDepths(kit.send("EmitEvent", { body: { name: "a.b" } })), [], "without a rule there is nothing to store");
  t.same(operations(create(kit, { flow: "f" }), "put_chain"), []);
});

/** Rules in code as rows: registered, changed, disabled by people, deleted when removed from the code. */
import t from "tap";
import type { DeclaredRule } from "#actors/rule-engine/rules/register-rules";
import type { RuleSpec } from "#protocol/records/rule";
import { completeSpec } from "#protocol/records/rule-spec";
import { operations } from "../../../support/decision-record.ts";
import { DispatchKit } from "../../../support/dispatch-kit.ts";

function declared(name: string, spec: RuleSpec = {}, module = "code.ts"): DeclaredRule {
  const checked = completeSpec({ do: [{ kind: "call", callable: name }], ...spec }, () => null, "code");
  if (!checked.ok) throw new Error(checked.error);
  return { name, module, spec: checked.spec };
}

t.test("a rule is added once, and stored again only when the code says something else", async (t) => {
  const kit = new DispatchKit();
  const when = { events: ["a.b"], project: "p" };
  const [row] = operations(kit.registerRules([declared("r", { when })]), "put_rule");
  t.match(row, { id: 1, name: "r", enabled: 1, source: "code", module: "code.ts", fire_count: 0 });
  t.match(JSON.parse(String(row?.["spec"])), { when, do: [{ kind: "call", callable: "r" }] });
  t.same(kit.registerRules([declared("r", { when })]).ops, []);
  kit.nowUs += 5;
  const moved = kit.registerRules([declared("r", { when }, "other.ts")]);
  t.match(operations(moved, "put_rule"), [{ id: 1, module: "other.ts", updated_at: kit.nowUs, since_time: kit.nowUs - 5 }]);
  const rewritten = kit.registerRules([declared("r", { when: { events: ["a.c"] } }, "other.ts")]);
  t.match(operations(rewritten, "put_rule"), [{ id: 1, since_time: kit.nowUs }], "what it watches for now begins now");
});

t.test("people can disable it, which stays, and nothing else", async (t) => {
  const kit = new DispatchKit();
  kit.registerRules([declared("r")]);
  for (const body of [{ name: "x" }, { enabled: true, once: "never" }, { do: [{ kind: "cancel_run" }] }])
    t.match(kit.send("PatchRule", { target: 1, body }).reply, { status: 409, body: { error: /comes from code/ } });
  t.equal(kit.send("DeleteRule", { target: 1 }).reply?.status, 409);
  const disabled = kit.send("PatchRule", { target: 1, body: { enabled: false, colour: "red" } });
  t.match(disabled.reply, { status: 200, body: { enabled: false, source: "code" } }, "an unknown field is no change");
  t.notMatch(operations(disabled, "put_rule")[0]?.["spec"], "colour");
  const again = kit.registerRules([declared("r", { cooldown_seconds: 5 })]);
  t.match(operations(again, "put_rule"), [{ enabled: 0 }]);
  t.equal(kit.state.rules.rules.get(1)?.enabled, false);
});

t.test("rules that are gone are removed, those of modules that cannot be imported and those of people stay", async (t) => {
  const kit = new DispatchKit();
  kit.registerRules([declared("a"), declared("b", {}, "broken.ts"), declared("c")]);
  kit.send("CreateRule", { body: { name: "c", do: [{ kind: "cancel_run" }] } });
  const outcome = kit.registerRules([declared("a")], ["broken.ts"]);
  t.same(
    operations(outcome, "delete_rule").map(({ id }) => id),
    [3],
  );
  t.same(
    [...kit.state.rules.rules.values()].map(({ name, source }) => [name, source]),
    [
      ["a", "code"],
      ["b", "code"],
      ["c", "ui"],
    ],
  );
  t.match(outcome.stream, [{ kind: "rule.deleted", id: 3 }]);
});

t.test("a rule over HTTP may call no function", async (t) => {
  const kit = new DispatchKit();
  const call = { do: [{ kind: "call", callable: "m:f" }] };
  const refusal = { status: 422, body: { error: "action 0: call actions are only for rules registered from code" } };
  t.match(kit.send("CreateRule", { body: { name: "r", ...call } }).reply, refusal);
  kit.send("CreateRule", { body: { name: "r", do: [{ kind: "cancel_run" }] } });
  t.match(kit.send("PatchRule", { target: 1, body: call }).reply, refusal);
});

t.test("a firing of a code rule is a row with its event and run, and ends with what the function returned", async (t) => {
  const kit = new DispatchKit();
  kit.registerRules([declared("r")]);
  const { spec } = declared("r");
  const [action] = spec.do;
  if (action === undefined) throw new Error("a rule has an action");
  const trigger = { event_id: 5, name: "a.b", run_id: null, flow_id: null, project: null, depth: 0 };
  const input = { event: { id: 5 }, run: null };
  const planned = [{ index: 0, kind: action.kind, action, input }];
  const reaction = { kind: "fire", rule_id: 1, trigger, created_by: null, actions: planned } as const;
  const { cursor } = kit.state.rules;
  const fired = kit.tell({ kind: "React", core: kit.epoch, from: cursor, to: 5, reactions: [reaction] });
  const call = { type: "rule", module: "code.ts", name: "r", ...input };
  t.match(operations(fired, "put_outbound"), [{ kind: "call", request: JSON.stringify({ kind: "UserCall", call }) }]);
  t.notMatch(operations(fired, "put_firing")[0]?.["pending"], /"input"/, "event and run are stored once");
  t.same(kit.tell({ kind: "SendOutbound" }).outbound, [{ kind: "UserCall", call, id: 1, firing_id: 1 }]);
  const done = kit.tell({ kind: "OutboundDone", id: 1, firing_id: 1, result: { detail: { a: 1 } } });
  const [firing] = operations(done, "put_firing");
  t.same(JSON.parse(String(firing?.["outcomes"])), [{ index: 0, kind: "call", status: "completed", detail: { a: 1 } }]);
});

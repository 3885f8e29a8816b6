/** Rules after a start: those with equal texts share one spec, which a change of one of them replaces for that one alone. */
import t from "tap";
import { NO_RULES, RuleBook } from "#actors/core/state/rule";
import { completeSpec } from "#protocol/records/rule-spec";
import type { LoadedRule } from "#storage/load/load-rules";
import { DispatchKit } from "../../../support/dispatch-kit.ts";

const FACTS = { hasFired: () => false, chainOf: () => 0 };

function loaded(...cooldowns: number[]): RuleBook {
  const rules = cooldowns.map((cooldown_seconds, index): LoadedRule => {
    const checked = completeSpec({ do: [{ kind: "cancel_run" }], cooldown_seconds }, () => null);
    if (!checked.ok) throw new Error(checked.error);
    const id = index + 1;
    const counts = { fire_count: 0, last_fired: null, since_event: 0, since_time: 0, created_at: 0, updated_at: 0 };
    const names = { id, external_id: `0191d3b0-0000-7000-8000-00000000000${id}`, name: `rule ${id}`, module: null };
    return { rule: { ...names, ...counts, enabled: 1, source: "ui", spec: JSON.stringify(checked.spec) }, guards: null };
  });
  return new RuleBook({ ...NO_RULES, rules }, FACTS);
}

t.test("rules with equal texts share their spec, others have their own", async (t) => {
  const [first, second, third] = loaded(5, 5, 6).rules.values();
  t.equal(first?.spec, second?.spec);
  t.not(first?.spec, third?.spec);
  t.same(
    [first, second, third].map((rule) => rule?.spec.cooldown_seconds),
    [5, 5, 6],
  );
});

t.test("a change of a rule leaves a rule with an equal text as it was", async (t) => {
  const kit = new DispatchKit();
  for (const [id, rule] of loaded(5, 5).rules) kit.state.rules.rules.set(id, rule);
  t.equal(kit.send("PatchRule", { target: 1, body: { cooldown_seconds: 7 } }).reply?.status, 200);
  const specs = [...kit.state.rules.rules.values()].map(({ spec }) => spec.cooldown_seconds);
  t.same(specs, [7, 5]);
});

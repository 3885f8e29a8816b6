/**
 * Rules in code, registered when the served directory has been looked through. A rule is known by its name. What people change
 * of it is whether it is enabled, and that stays; the rest is as the code says. One that is gone from the code is deleted.
 */
import type { FullSpec } from "#protocol/rule-spec";
import type { Turn } from "../turn.ts";
import { addRule, removeRule, storeRule, watchAnew, watchedBy } from "./rule-rows.ts";

/** A rule as it is declared in code, its options checked. */
export interface DeclaredRule {
  name: string;
  module: string;
  spec: FullSpec;
}

/** All rules of the served directory. */
export interface RegisterRules {
  kind: "RegisterRules";
  rules: DeclaredRule[];
  /** Modules that could not be imported: what they declare is not known, so their rules stay. */
  broken: string[];
}

export function registerRules(turn: Turn, { rules: declared, broken }: RegisterRules): void {
  const { rules } = turn.state.rules;
  const known = new Map([...rules.values()].filter(({ source }) => source === "code").map((rule) => [rule.name, rule]));
  for (const { name, module, spec } of declared) {
    const rule = known.get(name);
    known.delete(name);
    if (rule === undefined) addRule(turn, { name, enabled: true, source: "code", module, spec });
    else if (rule.module !== module || JSON.stringify(rule.spec) !== JSON.stringify(spec)) {
      const before = watchedBy(rule);
      rule.module = module;
      rule.spec = spec;
      rule.updated_at = turn.nowUs;
      if (watchedBy(rule) !== before) watchAnew(turn, rule);
      storeRule(turn, rule);
    }
  }
  for (const rule of known.values()) if (rule.module === null || !broken.includes(rule.module)) removeRule(turn, rule);
}

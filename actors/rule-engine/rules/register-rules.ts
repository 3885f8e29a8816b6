/**
 * Registers rules in code after discovery. A rule is identified by its name. People can only enable or disable such a rule,
 * and that setting persists; all other fields follow the code. A rule removed from the code is deleted.
 */
import type { FullSpec } from "#protocol/records/rule-spec";
import type { Turn } from "../../core/turn.ts";
import { addRule, removeRule, storeRule, watchAnew, watchedBy } from "./rule-rows.ts";

/** A rule declared in code, with validated options. */
export interface DeclaredRule {
  name: string;
  module: string;
  spec: FullSpec;
}

/** All rules of the served directory. */
export interface RegisterRules {
  kind: "RegisterRules";
  rules: DeclaredRule[];
  /** Modules that could not be imported: their declarations are unknown, so their rules stay. */
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

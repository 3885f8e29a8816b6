/** POST, PATCH and DELETE of rules. */

import { refuse } from "#protocol/errors";
import { RULE_BYTES_MAX, RULES_BYTES_MAX, RULES_COUNT_MAX } from "#protocol/limits";
import { RuleBody, RulePatch, type RuleSpec } from "#protocol/records/rule";
import { completeSpec, type FullSpec } from "#protocol/records/rule-spec";
import { canonicalJson } from "#protocol/values/json";
import { exceedsBytes } from "#protocol/values/json-size";
import type { Command } from "#protocol/wire/command";
import { parseBody } from "../../core/command-body.ts";
import type { Rule } from "../../core/state/rule.ts";
import type { Turn } from "../../core/turn.ts";
import { checkClock } from "../../expectation-timer/rule-clock.ts";
import { addRule, removeRule, storeRule, watchAnew, watchedBy } from "./rule-rows.ts";
import { templateError } from "./template-error.ts";

export function createRule(turn: Turn, command: Command): void {
  const body = parseBody(turn, command, RuleBody);
  if (body === undefined) return;
  const spec = checkedSpec(turn, command, body, 0);
  if (spec === undefined) return;
  const { rules } = turn.state;
  if (rules.rules.size >= RULES_COUNT_MAX)
    return turn.answers.refuse(command, refuse("too_many_rules", RULES_COUNT_MAX, RULES_BYTES_MAX));
  const rule = addRule(turn, { name: body.name, enabled: body.enabled ?? true, source: "ui", module: null, spec });
  turn.answers.json(command, 201, recordOf(rule));
}

export function patchRule(turn: Turn, command: Command): void {
  const patch = parseBody(turn, command, RulePatch);
  if (patch === undefined) return;
  const rule = turn.state.rules.rules.get(command.target);
  if (rule === undefined) return turn.answers.refuse(command, refuse("rule_not_found", command.target));
  const { name, enabled, ...said } = knownFields(patch);
  const saysMore = [name, ...Object.values(said)].some((value) => value !== undefined);
  if (rule.source === "code" && saysMore) return turn.answers.refuse(command, refuse("code_rule", rule.name));
  const spec = rule.source === "code" ? rule.spec : checkedSpec(turn, command, merged(rule.spec, said), rule.length);
  if (spec === undefined) return;
  const before = watchedBy(rule);
  rule.name = name ?? rule.name;
  rule.enabled = enabled ?? rule.enabled;
  rule.spec = spec;
  rule.updated_at = turn.nowUs;
  if (watchedBy(rule) !== before) watchAnew(turn, rule);
  storeRule(turn, rule);
  turn.answers.json(command, 200, recordOf(rule));
}

export function deleteRule(turn: Turn, command: Command): void {
  const rule = turn.state.rules.rules.get(command.target);
  if (rule === undefined) return turn.answers.refuse(command, refuse("rule_not_found", command.target));
  if (rule.source === "code") return turn.answers.refuse(command, refuse("code_rule", rule.name));
  removeRule(turn, rule);
  turn.answers.text(command, 204, null);
}

/**
 * The patch without the fields that its schema does not have. parseBody keeps such fields; here they must be ignored: they are
 * no change of a rule from code and no part of a stored spec.
 */
function knownFields(patch: RulePatch): RulePatch {
  const names = Object.keys(RulePatch.properties) as (keyof RulePatch)[];
  return Object.fromEntries(names.flatMap((name) => (Object.hasOwn(patch, name) ? [[name, patch[name]]] : [])));
}

/** Applies a patch: null removes an optional field, absent fields stay. */
function merged(spec: FullSpec, said: Omit<RulePatch, "name" | "enabled">): RuleSpec {
  const { unless, within, at, ...rest } = said;
  const replaced = Object.fromEntries(Object.entries(rest).filter(([, value]) => value != null));
  return {
    ...spec,
    ...replaced,
    unless: unless === undefined ? spec.unless : unless,
    within: within === undefined ? spec.within : within,
    at: at === undefined ? spec.at : at,
  };
}

/** `replaced`: the length of the replaced spec. */
function checkedSpec(turn: Turn, command: Command, said: RuleSpec, replaced: number): FullSpec | undefined {
  const checked = completeSpec(said, checkClock);
  const wrong = checked.ok ? templateError(checked.spec) : checked.error;
  if (checked.ok && wrong === null) {
    const text = canonicalJson(checked.spec);
    const isLarge = exceedsBytes(text, RULE_BYTES_MAX);
    if (!isLarge && turn.state.rules.length + text.length - replaced <= RULES_BYTES_MAX) return checked.spec;
    const refusal = isLarge
      ? refuse("value_too_large", "rule", RULE_BYTES_MAX)
      : refuse("too_many_rules", RULES_COUNT_MAX, RULES_BYTES_MAX);
    turn.answers.refuse(command, refusal);
    return undefined;
  }
  turn.answers.refuse(command, refuse("invalid", wrong ?? ""));
  return undefined;
}

/** The rule's record; the fields of a proactive rule are left out where unset. */
function recordOf(rule: Rule): Record<string, unknown> {
  const { id, external_id, name, enabled, source, module, fire_count, last_fired, created_at, updated_at } = rule;
  const { unless, within, at, ...spec } = rule.spec;
  const proactive = Object.entries({ unless, within, at }).filter(([, value]) => value !== null);
  const tail = { fire_count, last_fired, created_at, updated_at };
  return { id, external_id, name, enabled, source, module, ...spec, ...Object.fromEntries(proactive), ...tail };
}

/** POST, PATCH and DELETE of rules. */
import type { Command } from "#protocol/command";
import { refuse } from "#protocol/errors";
import { RULE_TEMPLATES_LENGTH_MAX } from "#protocol/limits";
import { RuleBody, RulePatch, type RuleSpec } from "#protocol/rule";
import { completeSpec, type FullSpec } from "#protocol/rule-spec";
import { putOperation } from "#storage/ops";
import { checkTemplates, templatesLength } from "#storage/templates/render";
import { checkClock } from "../expectations/clock.ts";
import { cancelExpectations } from "../expectations/lifecycle.ts";
import { EXPECTATIONS, RULES } from "../names.ts";
import type { Turn } from "../turn.ts";
import type { Rule } from "./rule.ts";

export function createRule(turn: Turn, command: Command): void {
  const body = turn.parse(command, RuleBody);
  if (body === undefined) return;
  const spec = checkedSpec(turn, command, body);
  if (spec === undefined) return;
  const book = turn.state.rules;
  const rule: Rule = {
    id: book.take("rule"),
    external_id: turn.ids.uuid(),
    name: body.name,
    enabled: body.enabled ?? true,
    source: "ui",
    module: null,
    spec,
    fire_count: 0,
    last_fired: null,
    since_event: book.nextIds.event - 1,
    since_time: turn.nowUs,
    created_at: turn.nowUs,
    updated_at: turn.nowUs,
    guards: { seconds: [] },
  };
  book.rules.set(rule.id, rule);
  store(turn, rule);
  turn.replyJson(command, 201, recordOf(rule));
}

export function patchRule(turn: Turn, command: Command): void {
  const patch = turn.parse(command, RulePatch);
  if (patch === undefined) return;
  const rule = turn.state.rules.rules.get(command.target);
  if (rule === undefined) return turn.refuse(command, refuse("rule_not_found", command.target));
  const { name, enabled, ...said } = patch;
  const saysMore = [name, ...Object.values(said)].some((value) => value !== undefined);
  if (rule.source === "code" && saysMore) return turn.refuse(command, refuse("code_rule", rule.name));
  const spec = rule.source === "code" ? rule.spec : checkedSpec(turn, command, merged(rule.spec, said));
  if (spec === undefined) return;
  const before = JSON.stringify([rule.enabled, rule.spec.when, rule.spec.unless, rule.spec.within, rule.spec.at]);
  rule.name = name ?? rule.name;
  rule.enabled = enabled ?? rule.enabled;
  rule.spec = spec;
  rule.updated_at = turn.nowUs;
  if (before !== JSON.stringify([rule.enabled, spec.when, spec.unless, spec.within, spec.at])) {
    // What it watches for from now on begins now.
    rule.since_event = turn.state.rules.nextIds.event - 1;
    rule.since_time = turn.nowUs;
    cancelExpectations(turn, rule.id);
  }
  store(turn, rule);
  turn.replyJson(command, 200, recordOf(rule));
}

export function deleteRule(turn: Turn, command: Command): void {
  const book = turn.state.rules;
  const rule = book.rules.get(command.target);
  if (rule === undefined) return turn.refuse(command, refuse("rule_not_found", command.target));
  if (rule.source === "code") return turn.refuse(command, refuse("code_rule", rule.name));
  cancelExpectations(turn, rule.id);
  book.rules.delete(rule.id);
  putOperation(turn.decision.ops, "delete_rule", rule.id);
  putOperation(turn.decision.ops, "delete_guards", rule.id);
  turn.stream("rule.deleted", rule.id);
  changed(turn);
  turn.reply(command, 204, null);
}

/** What is sent replaces; null takes away what a rule need not have, and leaves the rest as it is. */
function merged(spec: FullSpec, said: RuleSpec): RuleSpec {
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

function checkedSpec(turn: Turn, command: Command, said: RuleSpec): FullSpec | undefined {
  const checked = completeSpec(said, checkClock);
  const wrong = checked.ok ? templateError(checked.spec) : checked.error;
  if (checked.ok && wrong === null) return checked.spec;
  turn.refuse(command, refuse("invalid", wrong ?? ""));
  return undefined;
}

function templateError(spec: FullSpec): string | null {
  const length = spec.do.reduce((sum, { body, url, message, subject, parameters, headers }) => {
    return sum + templatesLength([body, url, message, subject, parameters, headers]);
  }, 0);
  if (length > RULE_TEMPLATES_LENGTH_MAX)
    return `templates of a rule have at most ${RULE_TEMPLATES_LENGTH_MAX} characters together`;
  for (const [index, action] of spec.do.entries()) {
    for (const field of ["body", "url", "message", "subject", "parameters", "headers"] as const) {
      const wrong = checkTemplates(field, action[field]);
      if (wrong !== null) return `action ${index}: ${wrong}`;
    }
  }
  return null;
}

function store(turn: Turn, rule: Rule): void {
  const { id, external_id, name, enabled, source, module, fire_count, last_fired } = rule;
  const identity = [id, external_id, name, enabled ? 1 : 0, source, module, JSON.stringify(rule.spec)] as const;
  const times = [rule.since_event, rule.since_time, rule.created_at, rule.updated_at] as const;
  putOperation(turn.decision.ops, "put_rule", ...identity, fire_count, last_fired, ...times);
  turn.stream("rule.updated", id);
  changed(turn);
}

function changed(turn: Turn): void {
  turn.state.rules.version += 1;
  turn.out.send(RULES, { kind: "Wake" });
  turn.out.send(EXPECTATIONS, { kind: "Rearm" });
}

/** The rule's record; what watches for an event that stays away is left out where it is not set. */
function recordOf(rule: Rule): Record<string, unknown> {
  const { id, external_id, name, enabled, source, module, fire_count, last_fired, created_at, updated_at } = rule;
  const { unless, within, at, ...spec } = rule.spec;
  const proactive = Object.entries({ unless, within, at }).filter(([, value]) => value !== null);
  const tail = { fire_count, last_fired, created_at, updated_at };
  return { id, external_id, name, enabled, source, module, ...spec, ...Object.fromEntries(proactive), ...tail };
}

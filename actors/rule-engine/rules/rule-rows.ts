/** Rules as rows: added, changed and removed, for every kind of caller. */
import type { FullSpec } from "#protocol/records/rule-spec";
import type { Rule } from "../../core/state/rule.ts";
import type { Turn } from "../../core/turn.ts";
import { cancelExpectations } from "../../expectation-timer/expectation-lifecycle.ts";
import { EXPECTATION_TIMER, RULE_ENGINE } from "../../names.ts";

export interface NewRule {
  name: string;
  enabled: boolean;
  source: "ui" | "code";
  module: string | null;
  spec: FullSpec;
}

export function addRule(turn: Turn, added: NewRule): Rule {
  const book = turn.state.rules;
  const rule: Rule = {
    id: book.take("rule"),
    external_id: turn.ids.uuid(),
    ...added,
    fire_count: 0,
    last_fired: null,
    since_event: book.newestEvent,
    since_time: turn.nowUs,
    created_at: turn.nowUs,
    updated_at: turn.nowUs,
    length: 0,
    guards: { seconds: [] },
  };
  book.rules.set(rule.id, rule);
  storeRule(turn, rule);
  return rule;
}

/** The fields that determine what a rule watches for, as text for comparison. */
export function watchedBy({ enabled, spec }: Rule): string {
  return JSON.stringify([enabled, spec.when, spec.unless, spec.within, spec.at]);
}

/** Restarts watching: only later events and ticks count. */
export function watchAnew(turn: Turn, rule: Rule): void {
  rule.since_event = turn.state.rules.newestEvent;
  rule.since_time = turn.nowUs;
  cancelExpectations(turn, rule.id);
}

export function storeRule(turn: Turn, rule: Rule): void {
  const { id, external_id, name, enabled, source, module, fire_count, last_fired } = rule;
  const { since_event, since_time, created_at, updated_at } = rule;
  const spec = JSON.stringify(rule.spec);
  turn.state.rules.length += spec.length - rule.length;
  rule.length = spec.length;
  const identity = { id, external_id, name, enabled: enabled ? 1 : 0, source, module, spec } as const;
  const times = { since_event, since_time, created_at, updated_at };
  turn.rows.put("put_rule", { ...identity, fire_count, last_fired, ...times });
  turn.stream.add("rule.updated", id);
  changed(turn);
}

export function removeRule(turn: Turn, { id, length }: Rule): void {
  turn.state.rules.length -= length;
  cancelExpectations(turn, id);
  turn.state.rules.rules.delete(id);
  turn.rows.put("delete_rule", { id });
  turn.rows.put("delete_guards", { rule_id: id });
  turn.stream.add("rule.deleted", id);
  changed(turn);
}

function changed(turn: Turn): void {
  turn.state.rules.version += 1;
  turn.out.send(RULE_ENGINE, { kind: "Wake" });
  turn.out.send(EXPECTATION_TIMER, { kind: "Rearm" });
}

/**
 * Applies reactions: rules fire and their actions are performed. One message of the rule engine is one decision: the cursor,
 * the guards, the events, the effects of actions and the outbound messages are committed together.
 */

import { RULE_CURSOR } from "#storage/load/load-rules";
import type { OpenFiring, Outcome, Rule } from "../../core/state/rule.ts";
import type { Turn } from "../../core/turn.ts";
import { settleByEvent } from "../../dispatcher/durable/events.ts";
import { arm, meet } from "../../expectation-timer/expectation-lifecycle.ts";
import type { OutboundContent, OutboundDone, PlannedAction, React, Reaction } from "../rule-messages.ts";
import { actionFailed, ruleEvent } from "../rules/rule-events.ts";
import { performAction } from "./actions.ts";
import { noteFiring, suppressedBy } from "./guards.ts";
import { closeOutbound, putOutbound } from "./outbound-messages.ts";
import { notePassed, type Quarantine, runGuarded } from "./quarantine.ts";

/** Without reactions, the cursor is stored only every this many events. */
const CURSOR_STEP = 1_000;

export function applyReactions(turn: Turn, react: React, quarantine: Quarantine): void {
  const book = turn.state.rules;
  if (react.from !== book.cursor) return;
  for (const reaction of react.reactions) applyReaction(turn, reaction, quarantine);
  book.cursor = react.to;
  if (react.reactions.length === 0 && react.to - book.storedCursor < CURSOR_STEP) return;
  book.storedCursor = react.to;
  turn.rows.put("put_cursor", { name: RULE_CURSOR, event_id: react.to });
}

function applyReaction(turn: Turn, reaction: Reaction, quarantine: Quarantine): void {
  if (reaction.kind === "event") return settleByEvent(turn, reaction.event);
  if (reaction.kind === "pass") return notePassed(turn, `event ${reaction.event_id}`, reaction.error);
  const rule = turn.state.rules.rules.get(reaction.rule_id);
  const event = "trigger" in reaction ? reaction.trigger.event_id : reaction.event_id;
  // The rule may have changed since the event was processed.
  if (rule === undefined || event <= rule.since_event) return;
  const point = `${reaction.kind} event ${event} rule ${rule.id}`;
  switch (reaction.kind) {
    case "fire": {
      const { trigger, created_by, actions } = reaction;
      if (suppressedBy(turn.state.rules, rule, { ...trigger, created_by }, turn.nowUs) !== null) return;
      const fails = (error: string): void => fire(turn, rule, trigger, failing(rule, error));
      return runGuarded(turn, quarantine, point, () => fire(turn, rule, trigger, actions), fails);
    }
    case "skip":
      if (suppressedBy(turn.state.rules, rule, { ...reaction.trigger, created_by: null }, turn.nowUs) !== null) return;
      return fire(turn, rule, reaction.trigger, failing(rule, reaction.error));
    default: {
      const apply = (): void => (reaction.kind === "arm" ? arm(turn, rule, reaction) : meet(turn, rule, reaction));
      return runGuarded(turn, quarantine, point, apply, (error) => actionFailed(turn, rule, NO_SUBJECT, error));
    }
  }
}

const NO_SUBJECT = { run_id: null, flow_id: null };

/** Replaces the actions of a rule whose event crashed the actors. */
function failing(rule: Rule, error: string): PlannedAction[] {
  return [{ index: 0, kind: rule.spec.do[0]?.kind ?? "call", error }];
}

function fire(turn: Turn, rule: Rule, trigger: OpenFiring["trigger"], actions: PlannedAction[]): void {
  const book = turn.state.rules;
  rule.fire_count += 1;
  rule.last_fired = turn.nowUs;
  turn.rows.put("fire_rule", { id: rule.id, fire_count: rule.fire_count, last_fired: rule.last_fired });
  if (noteFiring(rule, turn.nowUs)) turn.rows.put("put_guards", { rule_id: rule.id, state: JSON.stringify(rule.guards) });
  if (trigger.run_id !== null) {
    book.fired.put({ rule_id: rule.id, run_id: trigger.run_id }, true, turn.number);
    turn.rows.put("put_fired", { run_id: trigger.run_id, rule_id: rule.id });
  }
  const firing: OpenFiring = {
    id: book.take("firing"),
    rule_id: rule.id,
    timestamp: turn.nowUs,
    trigger,
    outcomes: [],
    remaining: actions,
    outbound: 0,
  };
  ruleEvent(turn, "rule.fired", rule, trigger, {
    rule_id: rule.id,
    rule: rule.name,
    event: trigger.name,
    event_id: trigger.event_id,
  });
  book.firings.set(firing.id, firing);
  goOn(turn, rule, firing);
}

/** Performs the remaining actions in order, up to the first that has to wait for an external result. */
function goOn(turn: Turn, rule: Rule, firing: OpenFiring): void {
  for (let next = firing.remaining.shift(); next !== undefined; next = firing.remaining.shift()) {
    const { index, kind } = next;
    if ("error" in next) {
      record(turn, rule, firing, { index, kind, status: "failed", error: next.error });
      continue;
    }
    const result = performAction(turn, rule, firing.trigger, next.action, next.input ?? null);
    // Several actions may move a run: write each move as its own row.
    turn.rows.write();
    if ("message" in result) {
      // The message's content is in its own row.
      firing.remaining.unshift({ index, kind, action: next.action });
      send(turn, firing, next, result.message);
      return store(turn, firing, false);
    }
    record(turn, rule, firing, outcomeOf(next, result));
  }
  turn.state.rules.firings.delete(firing.id);
  store(turn, firing, true);
  turn.stream.add("rule.updated", rule.id);
}

function outcomeOf({ index, kind }: PlannedAction, result: { detail: unknown } | { error: string }): Outcome {
  return "error" in result
    ? { index, kind, status: "failed", error: result.error }
    : { index, kind, status: "completed", detail: result.detail };
}

function send(turn: Turn, firing: OpenFiring, { index, kind }: PlannedAction, message: OutboundContent): void {
  firing.outbound = putOutbound(turn, message, { kind, firing_id: firing.id, rule_id: firing.rule_id, action: index });
}

/** Records the external result and continues the firing. A repeated result changes nothing. */
export function outboundDone(turn: Turn, done: OutboundDone, quarantine: Quarantine): void {
  const book = turn.state.rules;
  const firing = done.firing_id === null ? undefined : book.firings.get(done.firing_id);
  if (!closeOutbound(turn, done.id) || firing?.outbound !== done.id) return;
  const rule = book.rules.get(firing.rule_id);
  const action = firing.remaining.shift();
  firing.outbound = 0;
  if (rule === undefined || action === undefined) {
    book.firings.delete(firing.id);
    return store(turn, firing, true);
  }
  record(turn, rule, firing, outcomeOf(action, done.result));
  const fails = (error: string): void => {
    firing.remaining = firing.remaining.map(({ index, kind }) => ({ index, kind, error }));
    goOn(turn, rule, firing);
  };
  runGuarded(turn, quarantine, `answer ${done.id}`, () => goOn(turn, rule, firing), fails);
}

function record(turn: Turn, rule: Rule, firing: OpenFiring, outcome: Outcome): void {
  firing.outcomes.push(outcome);
  const { index, kind } = outcome;
  const common = { rule_id: rule.id, action: kind, index };
  if (outcome.status === "completed")
    ruleEvent(turn, "rule.action.completed", rule, firing.trigger, { ...common, detail: outcome.detail });
  else ruleEvent(turn, "rule.action.failed", rule, firing.trigger, { ...common, error: outcome.error });
}

function store(turn: Turn, firing: OpenFiring, done: boolean): void {
  const { id, rule_id, timestamp, trigger, outcomes, remaining, outbound } = firing;
  const pending = done ? null : JSON.stringify({ trigger, remaining, outbound });
  const { event_id, run_id } = trigger;
  turn.rows.put("put_firing", { id, rule_id, event_id, run_id, timestamp, outcomes: JSON.stringify(outcomes), pending });
}

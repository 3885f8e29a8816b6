/**
 * Reactions applied: firings with their actions, expectations armed, met and lapsed. One message of the rule engine is one
 * decision: the cursor, the guards, the events, what the actions change and the messages to be sent are committed together.
 */

import { type ExpectationRow, RULE_CURSOR } from "#storage/load-rules";
import { putOperation } from "#storage/ops";
import { EXPECTATIONS } from "../names.ts";
import type { Turn } from "../turn.ts";
import { performAction } from "./actions.ts";
import { heldBackBy, noteFiring } from "./guards.ts";
import type { OutboundDone, OutgoingContent, PlannedAction, React, Reaction } from "./messages.ts";
import { closeOutgoing, putOutgoing } from "./outgoing.ts";
import { expectationKey, noteFailure, type OpenFiring, type Outcome, type Rule, type RuleFailures } from "./rule.ts";
import { ruleEvent } from "./rule-events.ts";

/** An idle cursor is stored this seldom. */
const CURSOR_STEP = 1_000;
const SECOND_US = 1e6;

export function applyReactions(turn: Turn, react: React, failures: RuleFailures): void {
  const book = turn.state.rules;
  if (react.from !== book.cursor) return;
  for (const reaction of react.reactions) {
    try {
      applyReaction(turn, reaction);
    } catch (cause) {
      noteFailure(failures, "trigger" in reaction ? reaction.trigger.event_id : react.to, cause);
      throw cause;
    }
  }
  book.cursor = react.to;
  if (react.reactions.length === 0 && react.to - book.storedCursor < CURSOR_STEP) return;
  book.storedCursor = react.to;
  putOperation(turn.decision.ops, "put_cursor", RULE_CURSOR, react.to);
}

function applyReaction(turn: Turn, reaction: Reaction): void {
  const rule = turn.state.rules.rules.get(reaction.rule_id);
  if (rule === undefined) return;
  switch (reaction.kind) {
    case "fire":
      if (heldBackBy(turn.state.rules, rule, { ...reaction.trigger, created_by: reaction.created_by }, turn.nowUs) !== null)
        return;
      return fire(turn, rule, reaction.trigger, reaction.actions);
    case "skip":
      return fire(turn, rule, reaction.trigger, [{ index: 0, kind: rule.spec.do[0]?.kind ?? "call", error: reaction.error }]);
    case "arm":
      return arm(turn, rule, reaction);
    default:
      return meet(turn, rule, reaction.key, reaction.occurred);
  }
}

function fire(turn: Turn, rule: Rule, trigger: OpenFiring["trigger"], actions: PlannedAction[]): void {
  const book = turn.state.rules;
  rule.fire_count += 1;
  rule.last_fired = turn.nowUs;
  putOperation(turn.decision.ops, "fire_rule", rule.id, rule.fire_count, rule.last_fired);
  if (noteFiring(rule, turn.nowUs)) putOperation(turn.decision.ops, "put_guards", rule.id, JSON.stringify(rule.guards));
  if (trigger.run_id !== null) book.fired.put(`${rule.id}:${trigger.run_id}`, true, turn.number);
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

/** Does the remaining actions in order, up to the first that has to wait for an answer from outside. */
function goOn(turn: Turn, rule: Rule, firing: OpenFiring): void {
  for (let next = firing.remaining.shift(); next !== undefined; next = firing.remaining.shift()) {
    const { index, kind } = next;
    if ("error" in next) {
      record(turn, rule, firing, { index, kind, status: "failed", error: next.error });
      continue;
    }
    const result = performAction(turn, rule, firing.trigger, next.action, next.input ?? null);
    if ("message" in result) {
      // What the message is made of is in its own row.
      firing.remaining.unshift({ index, kind, action: next.action });
      send(turn, firing, next, result.message);
      return store(turn, firing, false);
    }
    record(turn, rule, firing, outcomeOf(next, result));
  }
  turn.state.rules.firings.delete(firing.id);
  store(turn, firing, true);
  turn.stream("rule.updated", rule.id);
}

function outcomeOf({ index, kind }: PlannedAction, result: { detail: unknown } | { error: string }): Outcome {
  return "error" in result
    ? { index, kind, status: "failed", error: result.error }
    : { index, kind, status: "completed", detail: result.detail };
}

function send(turn: Turn, firing: OpenFiring, { index, kind }: PlannedAction, message: OutgoingContent): void {
  firing.outbound = putOutgoing(turn, message, { kind, firing_id: firing.id, rule_id: firing.rule_id, action: index });
}

/** The answer from outside: recorded, and the firing goes on. A repeated one changes nothing. */
export function outboundDone(turn: Turn, done: OutboundDone): void {
  const book = turn.state.rules;
  const firing = done.firing_id === null ? undefined : book.firings.get(done.firing_id);
  if (!closeOutgoing(turn, done.id) || firing?.outbound !== done.id) return;
  const rule = book.rules.get(firing.rule_id);
  const action = firing.remaining.shift();
  firing.outbound = 0;
  if (rule === undefined || action === undefined) {
    book.firings.delete(firing.id);
    return store(turn, firing, true);
  }
  record(turn, rule, firing, outcomeOf(action, done.result));
  goOn(turn, rule, firing);
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
  const event = trigger.event_id;
  putOperation(turn.decision.ops, "put_firing", id, rule_id, event, trigger.run_id, timestamp, JSON.stringify(outcomes), pending);
}

function arm(turn: Turn, rule: Rule, wanted: Reaction & { kind: "arm" }): void {
  const book = turn.state.rules;
  const { rule_id, key, run_id, flow_id, occurred } = wanted;
  const { within } = rule.spec;
  if (!rule.enabled || within === null || book.expectations.has(expectationKey({ rule_id, key }))) return;
  const deadline = occurred + Math.round(within * SECOND_US);
  const expectation: ExpectationRow = {
    id: book.take("expectation"),
    rule_id,
    key,
    armed_at: occurred,
    deadline,
    flow_id,
    run_id,
  };
  book.expectations.set(expectationKey(expectation), expectation);
  putExpectation(turn, expectation, "open");
  const { id } = expectation;
  ruleEvent(turn, "expectation.armed", rule, expectation, { id, rule_id, key, run_id, deadline });
  turn.stream("expectation.armed", id);
  turn.out.send(EXPECTATIONS, { kind: "Rearm" });
}

function meet(turn: Turn, rule: Rule, key: string, occurred: number): void {
  const book = turn.state.rules;
  const expectation = book.expectations.get(expectationKey({ rule_id: rule.id, key }));
  if (expectation === undefined || occurred > expectation.deadline || occurred < expectation.armed_at) return;
  book.expectations.delete(expectationKey(expectation));
  putExpectation(turn, expectation, "met");
  ruleEvent(turn, "expectation.met", rule, expectation, { id: expectation.id, rule_id: rule.id, key });
  turn.stream("expectation.met", expectation.id);
}

/** Open expectations due by `dueUs` have lapsed. The event of each makes its rule fire, by the same way as any event. */
export function lapse(turn: Turn, dueUs: number): void {
  const book = turn.state.rules;
  for (const expectation of [...book.expectations.values()].sort((a, b) => a.deadline - b.deadline)) {
    if (expectation.deadline > dueUs) continue;
    const rule = book.rules.get(expectation.rule_id);
    book.expectations.delete(expectationKey(expectation));
    putExpectation(turn, expectation, rule === undefined ? "cancelled" : "lapsed");
    if (rule === undefined) continue;
    const run = expectation.run_id === null ? undefined : turn.state.findRun(expectation.run_id);
    const flow = run?.flow ?? (expectation.flow_id === null ? undefined : turn.state.flows.get(expectation.flow_id));
    const event = ruleEvent(turn, "expectation.lapsed", rule, expectation, {
      rule_id: rule.id,
      rule: rule.name,
      flow: flow?.name ?? null,
      project: flow?.project ?? null,
      run: run?.id ?? null,
      run_name: run?.name ?? null,
      expected: rule.spec.unless?.events ?? [],
      deadline: expectation.deadline,
      armed_at: expectation.armed_at,
      expectation_id: expectation.id,
    });
    turn.stream("expectation.lapsed", event);
  }
  turn.out.send(EXPECTATIONS, { kind: "Rearm" });
}

/** A clock has ticked and nothing that was expected came. */
export function lapseTick(turn: Turn, ruleId: number, dueUs: number): void {
  const rule = turn.state.rules.rules.get(ruleId);
  if (rule === undefined || !rule.enabled) return;
  const nobody = { run_id: null, flow_id: null };
  const facts = { flow: null, project: rule.spec.unless?.project ?? null, run: null, run_name: null };
  const event = ruleEvent(turn, "expectation.lapsed", rule, nobody, {
    ...{ rule_id: rule.id, rule: rule.name, ...facts, expected: rule.spec.unless?.events ?? [] },
    ...{ deadline: dueUs, armed_at: null, expectation_id: null },
  });
  turn.stream("expectation.lapsed", event);
}

/** What a rule waits for is not waited for any more. */
export function cancelExpectations(turn: Turn, ruleId: number): void {
  const book = turn.state.rules;
  for (const expectation of [...book.expectations.values()]) {
    if (expectation.rule_id !== ruleId) continue;
    book.expectations.delete(expectationKey(expectation));
    putExpectation(turn, expectation, "cancelled");
  }
}

function putExpectation(turn: Turn, expectation: ExpectationRow, status: "open" | "met" | "lapsed" | "cancelled"): void {
  const { id, rule_id, key, armed_at, deadline, flow_id, run_id } = expectation;
  putOperation(turn.decision.ops, "put_expectation", id, rule_id, key, status, armed_at, deadline, flow_id, run_id);
}

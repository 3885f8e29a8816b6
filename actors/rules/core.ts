/**
 * The rule engine: reads committed events behind the cursor, in order, and says what they lead to.
 *
 * Messages in: that something was committed, what the dispatcher has applied, deadlines and ticks, POST /test. Effects out:
 * reactions for the dispatcher, one message at a time. It changes nothing itself: the cursor moves in the decision that
 * applies the reactions, so an event is neither missed nor handled twice, whichever of the two crashes when.
 */

import type { Command } from "#protocol/command";
import { refuse } from "#protocol/errors";
import type { FullSpec } from "#protocol/rule-spec";
import type { Actor } from "#runtime/actor";
import type { Outbox } from "#runtime/effect";
import { emptyDecision } from "#storage/feed";
import { eventsAfter, eventsBetween, latestEvents, newestEvent, type SeenEvent } from "#storage/load-events";
import type { Statements } from "#storage/statements";
import { nextTick } from "../expectations/clock.ts";
import type { LiveState } from "../live-state/live-state.ts";
import { COMMITS, DISPATCHER } from "../names.ts";
import { matches, RuleIndex } from "./matching.ts";
import type { React, Reaction, RulesMessage } from "./messages.ts";
import { planActions, templateValues } from "./plan.ts";
import { noteFailure, type Rule, type RuleFailures, type Trigger } from "./rule.ts";

/** Events looked at in one step. */
const BATCH_EVENTS = 200;
/** Without any rule the cursor follows in steps of this many events. */
const IDLE_STEP = 1_000;
/** Events that POST /test looks at. */
const TEST_EVENTS = 200;
const SECOND_US = 1e6;
/** Crashes at the same event after which it is passed. */
const CRASHES_MAX = 2;

export interface RulePorts {
  nowUs(): number;
  /** The live state of the dispatch group; null while there is none. */
  state(): LiveState | null;
  statements(): Statements;
  epoch(): number;
  /** Where it failed: outlives the actor. */
  readonly failures: RuleFailures;
}

export class RuleEngine implements Actor<RulesMessage> {
  readonly #ports: RulePorts;
  #index = new RuleIndex([]);
  #indexed: { state: LiveState; version: number } | null = null;
  /** The state whose dispatcher has reactions to apply; null when it has not. */
  #waiting: LiveState | null = null;
  /** Deadlines and ticks, and the event that must have been looked at first. */
  #due: { after: number; message: RulesMessage }[] = [];

  constructor(ports: RulePorts) {
    this.#ports = ports;
  }

  receive(message: RulesMessage, out: Outbox): void {
    const state = this.#ports.state();
    if (state === null) return;
    if (message.kind === "Reacted") this.#waiting = null;
    if (message.kind === "TestRule") return this.#test(state, message, out);
    if (message.kind === "DeadlinePassed" || message.kind === "ClockTick")
      this.#due.push({ after: state.rules.nextIds.event - 1, message });
    if (this.#waiting !== state) this.#advance(state, out);
  }

  #advance(state: LiveState, out: Outbox): void {
    this.#reindex(state);
    const { rules } = state;
    this.#passDue(state, out);
    const statements = this.#ports.statements();
    if (this.#index.empty && rules.expectations.size === 0 && !hasClock(state)) {
      const to = newestEvent(statements);
      if (to - rules.cursor >= IDLE_STEP || this.#due.length > 0) this.#send(state, out, to, []);
      return;
    }
    const events = eventsAfter(statements, rules.cursor, BATCH_EVENTS);
    const last = events.at(-1);
    if (last === undefined) return;
    this.#send(
      state,
      out,
      last.id,
      events.flatMap((event) => this.#reactionsTo(state, event)),
    );
  }

  #send(state: LiveState, out: Outbox, to: number, reactions: Reaction[]): void {
    if (to <= state.rules.cursor) return;
    this.#waiting = state;
    const { cursor: from } = state.rules;
    out.send(DISPATCHER, { kind: "React", core: this.#ports.epoch(), from, to, reactions } satisfies React);
  }

  /** An event at which this failed twice is passed, and its rules say so. */
  #reactionsTo(state: LiveState, event: SeenEvent): Reaction[] {
    const { failures } = this.#ports;
    if (event.id === failures.event && failures.count >= CRASHES_MAX) return this.#skip(state, event, failures.error);
    try {
      return this.#match(state, event);
    } catch (cause) {
      noteFailure(failures, event.id, cause);
      throw cause;
    }
  }

  #skip(state: LiveState, event: SeenEvent, error: string): Reaction[] {
    const trigger = { ...triggerOf(event), project: null };
    return this.#firedBy(state, event).map((rule) => ({ kind: "skip", rule_id: rule.id, trigger, error }));
  }

  #match(state: LiveState, event: SeenEvent): Reaction[] {
    if (event.name.startsWith("rule.")) return [];
    const reactions: Reaction[] = [];
    const concerns = (rule: Rule): boolean => event.id > rule.since_event;
    const key = event.run_id !== null ? `run:${event.run_id}` : event.flow_id !== null ? `flow:${event.flow_id}` : null;
    if (key !== null && !event.name.startsWith("expectation.")) {
      const { occurred, run_id, flow_id } = event;
      for (const rule of this.#index.metBy(event).filter(concerns))
        reactions.push({ kind: "meet", rule_id: rule.id, key, occurred });
      for (const rule of this.#index.armedBy(event).filter(concerns))
        reactions.push({ kind: "arm", rule_id: rule.id, key, run_id, flow_id, occurred });
    }
    const fired = this.#firedBy(state, event).filter(concerns);
    if (fired.length === 0) return reactions;
    const values = templateValues(this.#ports.statements(), event);
    const trigger = triggerOf(event);
    for (const rule of fired) {
      const actions = planActions(rule.spec, values);
      reactions.push({ kind: "fire", rule_id: rule.id, trigger, created_by: event.created_by, actions });
    }
    return reactions;
  }

  /** The rules whose actions the event asks for: those that match it, and the one whose expectation has lapsed. */
  #firedBy(state: LiveState, event: SeenEvent): Rule[] {
    const fired = this.#index.firedBy(event);
    if (event.name !== "expectation.lapsed") return fired;
    const own = state.rules.rules.get(Number(event.payload["rule_id"]));
    return own === undefined || !own.enabled || own.spec.unless === null ? fired : [own, ...fired];
  }

  /** Hands on deadlines and ticks before which every event has been looked at. */
  #passDue(state: LiveState, out: Outbox): void {
    const core = this.#ports.epoch();
    const ready = this.#due.filter(({ after }) => after <= state.rules.cursor || after <= state.rules.storedCursor);
    this.#due = this.#due.filter((due) => !ready.includes(due));
    for (const { message } of ready) {
      if (message.kind === "DeadlinePassed") out.send(DISPATCHER, { kind: "Lapse", core, due: message.due });
      else if (message.kind === "ClockTick" && this.#tickLapsed(state, message.rule_id, message.due))
        out.send(DISPATCHER, { kind: "LapseTick", core, rule_id: message.rule_id, due: message.due });
    }
  }

  /** True when nothing that a clock-armed rule expects came in its window, and it was watching all that time. */
  #tickLapsed(state: LiveState, ruleId: number, due: number): boolean {
    const rule = state.rules.rules.get(ruleId);
    if (rule === undefined || !rule.enabled || rule.spec.at === null || rule.spec.unless === null) return false;
    const { unless, within, at } = rule.spec;
    // Without a window of its own, it looks back as far as its next tick is away.
    const interval = (nextTick(at.cron, at.tz, due) ?? due) - due;
    const from = due - (within === null ? interval : within * SECOND_US);
    if (rule.since_time > from) return false;
    const found = unless.events.flatMap((name) => eventsBetween(this.#ports.statements(), name, from, due, TEST_EVENTS));
    return !found.some((event) => matches(unless, event));
  }

  #reindex(state: LiveState): void {
    const { version } = state.rules;
    if (this.#indexed?.state === state && this.#indexed.version === version) return;
    this.#index = new RuleIndex(state.rules.rules.values());
    this.#indexed = { state, version };
  }

  /** POST /api/rules/{id}/test: renders, executes nothing. */
  #test(state: LiveState, command: Command, out: Outbox): void {
    if (command.epoch !== this.#ports.epoch()) return;
    const rule = state.rules.rules.get(command.target);
    const decision = emptyDecision();
    if (rule === undefined) {
      const refusal = refuse("rule_not_found", command.target);
      decision.replies.push(command.id, refusal.status, refusal.body());
    } else decision.replies.push(command.id, 200, JSON.stringify(this.#rehearse(rule)));
    out.send(COMMITS, { decision, turn: 0 });
  }

  #rehearse(rule: Rule): Record<string, unknown> {
    const statements = this.#ports.statements();
    const wanted = rule.spec.unless !== null && rule.spec.at !== null ? null : rule.spec.when;
    const latest = latestEvents(statements, TEST_EVENTS).filter(({ name }) => !name.startsWith("rule."));
    const event = wanted === null ? latest[0] : latest.find((each) => matches(wanted, each));
    if (event === undefined) return { actions: [], event: null, note: `none of the latest ${TEST_EVENTS} events matches` };
    const proactive = rule.spec.unless !== null;
    const values = proactive
      ? lapsedValues(rule, templateValues(statements, event), this.#ports.nowUs())
      : templateValues(statements, event);
    const actions = planActions(rule.spec, values).map((planned) =>
      "error" in planned ? { kind: planned.kind, error: planned.error } : { kind: planned.kind, rendered: planned.action },
    );
    const note = "the event stands for an expectation that lapses now";
    return { actions, event: values["event"], ...(proactive ? { note } : {}) };
  }
}

function hasClock(state: LiveState): boolean {
  for (const { spec, enabled } of state.rules.rules.values()) if (enabled && spec.at !== null) return true;
  return false;
}

function triggerOf(event: SeenEvent): Trigger {
  const { id, name, run_id, flow_id, project, depth } = event;
  return { event_id: id, name, run_id, flow_id, project, depth };
}

/** As if what the rule waits for had not come. */
function lapsedValues(rule: Rule, values: Readonly<Record<string, unknown>>, nowUs: number): Record<string, unknown> {
  const run = values["run"] as { id: number; name: string } | null;
  const flow = values["flow"] as { name: string; project: string } | null;
  const spec: FullSpec = rule.spec;
  const payload = {
    ...{ rule_id: rule.id, rule: rule.name, flow: flow?.name ?? null, project: flow?.project ?? null },
    ...{ run: run?.id ?? null, run_name: run?.name ?? null, expected: spec.unless?.events ?? [] },
    ...{ deadline: nowUs, armed_at: nowUs, expectation_id: null, synthetic: true },
  };
  const resource = { kind: "rule", id: rule.external_id, name: rule.name };
  const event = { ...(values["event"] as object), id: 0, seq: 0, name: "expectation.lapsed", occurred: nowUs, resource, payload };
  return { ...values, event, payload };
}

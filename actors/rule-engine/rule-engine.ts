/**
 * The rule engine: reads committed events behind the cursor, in order, and determines the reactions.
 *
 * Messages in: commits, applied reactions, deadlines and ticks, results of readers. Effects out: reactions for the
 * dispatcher, one message at a time, and requests to readers, which render templates and search for expected events. The rule
 * engine changes nothing itself: the cursor moves in the decision that applies the reactions, so no event is missed or
 * handled twice, whenever either actor crashes.
 */
import type { Actor } from "#runtime/actor";
import type { Outbox } from "#runtime/effect";
import { eventsBefore } from "#storage/load/lineage-events";
import { eventsAfter, type SeenEvent } from "#storage/load/load-events";
import type { Statements } from "#storage/sqlite/statements";
import { type AwaitedEvent, awaitedEvent, isAwaited } from "../core/state/awaited-event.ts";
import type { StoredWait } from "../core/state/durable.ts";
import type { LiveState } from "../core/state/live-state.ts";
import type { Rule, Trigger } from "../core/state/rule.ts";
import { nextTick } from "../expectation-timer/rule-clock.ts";
import { DISPATCHER, RULE_ENGINE, RULE_READER } from "../names.ts";
import { LAPSED, RuleIndex } from "./reactions/matching.ts";
import { ActionPlan, TRIES_MAX } from "./reactions/plan.ts";
import type { Quarantine } from "./reactions/quarantine.ts";
import type {
  ClockTick,
  Lapse,
  LookedBack,
  React,
  Reaction,
  ReadDone,
  ReadRequest,
  RuleQuestion,
  RulesMessage,
  TickDone,
} from "./rule-messages.ts";

/** Maximum of events per step. */
const BATCH_EVENTS = 200;
/** Firings of one step after which it takes no further event. */
const BATCH_FIRINGS = 200;
/** Without rules, the cursor advances in steps of this many events. */
const IDLE_STEP = 1_000;
const SECOND_US = 1e6;

export interface RulePorts {
  /** The live state of the dispatch group; null before its first start. */
  state(): LiveState | null;
  statements(): Statements;
  epoch(): number;
  /** A number never used before, also by earlier lives of the actor. */
  nextTicket(): number;
  /** Survives the actor. */
  readonly quarantine: Quarantine;
}

/** The reactions to the events after `from` through `to`, in preparation. */
interface Step {
  from: number;
  to: number;
  reactions: Reaction[];
  plan: ActionPlan;
  /** Ticket of the pending request; 0 when the step is complete and sent to the dispatcher. */
  ticket: number;
}

/** Events that one message looks through for waits that were armed: some milliseconds, more for large payloads. */
const LOOK_BACK_EVENTS = 200;

/** The search for the event before a wait was armed. */
interface LookBack {
  /** The step that armed the wait. */
  readonly turn: number;
  /** The last event that was looked at. */
  after: number;
  found?: AwaitedEvent;
  /** The dispatcher has been given the outcome. */
  sent: boolean;
}

export class RuleEngine implements Actor<RulesMessage> {
  readonly #ports: RulePorts;
  /** The state that all fields below refer to. */
  #state: LiveState | null = null;
  #index = new RuleIndex([]);
  #indexed = 0;
  #step: Step | null = null;
  /** Without rules: an event that the cursor passes once the step that decided the event is committed. */
  #passing: { event: number; step: number } | null = null;
  /** A deadline, and the event that has to be processed first. */
  #deadline: { after: number; due: number } | null = null;
  /** How far the look back of each wait has come, and the step that armed it. */
  readonly #lookedBack = new Map<number, LookBack>();
  /** Ticks by rule. */
  readonly #ticks = new Map<number, { after: number; due: number; ticket: number; tries: number }>();

  constructor(ports: RulePorts) {
    this.#ports = ports;
  }

  receive(message: RulesMessage, out: Outbox): void {
    const state = this.#ports.state();
    if (state === null) return;
    if (state !== this.#state) this.#forget(state);
    switch (message.kind) {
      case "Reacted":
        if (this.#step?.ticket === 0 && message.from === this.#step.from) this.#step = null;
        break;
      case "ReadDone":
        this.#answered(message, out);
        break;
      case "DeadlinePassed":
        // A later deadline is sent again after this one has been passed on.
        this.#deadline ??= { after: state.rules.newestEvent, due: message.due };
        break;
      case "ClockTick":
        this.#takeTick(state, message);
        break;
      case "ReaderStarted":
        this.#askAgain(out);
        break;
      case "Wake":
    }
    this.#passDue(state, out);
    if (this.#step === null) this.#look(state, out);
  }

  /** The live state was replaced: drops everything in progress. */
  #forget(state: LiveState): void {
    this.#state = state;
    this.#indexed = 0;
    this.#step = null;
    this.#passing = null;
    this.#deadline = null;
    this.#ticks.clear();
    this.#lookedBack.clear();
  }

  /** Processes the next events. */
  #look(state: LiveState, out: Outbox): void {
    this.#reindex(state);
    const { rules, durable } = state;
    if (durable.lookBacks.size > 0) this.#lookBack(state, out);
    // Events behind the cursor wait in the store; results of outbound messages are commits, which wake this actor.
    if (rules.isBackedUp) return;
    if (this.#index.empty && rules.expectations.size === 0 && !durable.awaitsEvents) return this.#pass(state, out);
    this.#passing = null;
    const statements = this.#ports.statements();
    const step: Step = { from: rules.cursor, to: rules.cursor, reactions: [], plan: new ActionPlan(), ticket: 0 };
    let firings = 0;
    const { events, to } = eventsAfter(statements, rules.cursor, BATCH_EVENTS, (name) => this.#concerns(state, name));
    for (const event of events) {
      const reactions = this.#index.concerns(event.name) ? this.#reactionsTo(state, event, step.plan) : [];
      if (durable.awaits(event.name)) reactions.push({ kind: "event", event: awaitedEvent(event) });
      step.reactions.push(...reactions);
      step.to = event.id;
      firings += reactions.length;
      if (firings >= BATCH_FIRINGS) break;
    }
    if (firings < BATCH_FIRINGS) step.to = to;
    if (step.to === rules.cursor) return;
    this.#goOn(step, out);
  }

  /** Moves the cursor over events that concern nothing, without reading them. */
  #pass({ rules, committedTurn }: LiveState, out: Outbox): void {
    const least = this.#deadline !== null || this.#ticks.size > 0 ? 1 : IDLE_STEP;
    const event = rules.newestEvent;
    if (event - rules.cursor >= least) this.#passing ??= { event, step: rules.newestEventStep };
    if (this.#passing === null || this.#passing.step > committedTurn()) return;
    this.#send({ from: rules.cursor, to: this.#passing.event, reactions: [], plan: new ActionPlan(), ticket: 0 }, out);
    this.#passing = null;
  }

  #concerns({ durable }: LiveState, name: string): boolean {
    return this.#index.concerns(name) || durable.awaits(name);
  }

  /**
   * Looks for the event before a wait was armed that settles the wait; those after the cursor follow as reactions. Bounded,
   * because an event may be frequent and never match: the rest follows after other messages.
   */
  #lookBack({ durable, rules, committedTurn }: LiveState, out: Outbox): void {
    for (const id of this.#lookedBack.keys()) if (!durable.lookBacks.has(id)) this.#lookedBack.delete(id);
    let left = LOOK_BACK_EVENTS;
    for (const [id, turn] of durable.lookBacks) {
      const wait = durable.openWait(id);
      if (wait === undefined || turn > committedTurn()) continue;
      const known = this.#lookedBack.get(id);
      const look = known?.turn === turn ? known : { turn, after: 0, sent: false };
      if (look.sent) continue;
      this.#lookedBack.set(id, look);
      if (left <= 0) return out.send(RULE_ENGINE, { kind: "Wake" });
      left = this.#lookThrough(wait, look, { durable, to: rules.cursor, left });
      if (left <= 0 && look.found === undefined) return out.send(RULE_ENGINE, { kind: "Wake" });
      look.sent = true;
      const event = look.found ?? null;
      out.send(DISPATCHER, { kind: "LookedBack", core: this.#ports.epoch(), wait_id: id, event } satisfies LookedBack);
    }
  }

  /** Reads on for a wait, until an event settles it or so many were read; returns how many are left. */
  #lookThrough(
    wait: StoredWait,
    look: LookBack,
    { durable, to, left }: { durable: LiveState["durable"]; to: number; left: number },
  ): number {
    const filter = durable.filterOf(wait);
    if (filter === undefined) return left;
    const range = { name: filter.event, lineage: wait.lineage_id, after: look.after, to };
    let rest = left;
    for (const each of eventsBefore(this.#ports.statements(), range)) {
      look.after = each.id;
      rest -= 1;
      const awaited = awaitedEvent(each);
      if (isAwaited(filter, awaited) && !durable.hasUsed(wait.lineage_id, each.id)) {
        look.found = awaited;
        return rest;
      }
      if (rest <= 0) return 0;
    }
    return Math.max(1, rest);
  }

  /** Requests missing templates from a reader; sends a complete step to the dispatcher. */
  #goOn(step: Step, out: Outbox): void {
    this.#step = step;
    const items = step.plan.question();
    if (items.length === 0) this.#send(step, out);
    else step.ticket = this.#ask({ query: "rendered_actions", args: { items } }, out);
  }

  #send(step: Step, out: Outbox): void {
    this.#step = step;
    step.ticket = 0;
    const { from, to, reactions } = step;
    out.send(DISPATCHER, { kind: "React", core: this.#ports.epoch(), from, to, reactions } satisfies React);
  }

  #ask(question: RuleQuestion, out: Outbox): number {
    const ticket = this.#ports.nextTicket();
    out.send(RULE_READER, { kind: "ReadRequest", ticket, ...question } satisfies ReadRequest);
    return ticket;
  }

  #askAgain(out: Outbox): void {
    for (const tick of this.#ticks.values()) tick.ticket = 0;
    if (this.#step !== null && this.#step.ticket > 0) this.#goOn(this.#step, out);
  }

  #answered({ ticket, result }: ReadDone, out: Outbox): void {
    const step = this.#step;
    if (step?.ticket === ticket) {
      if ("text" in result) step.plan.take(result.text);
      else step.plan.fail(result.error);
      this.#goOn(step, out);
      return;
    }
    for (const [rule_id, tick] of this.#ticks) {
      if (tick.ticket !== ticket) continue;
      if ("text" in result) return this.#endTick(rule_id, tick.due, result.text === "true" ? "met" : "lapsed", out);
      tick.ticket = 0;
      tick.tries += 1;
      if (tick.tries >= TRIES_MAX) return this.#endTick(rule_id, tick.due, result, out);
    }
  }

  /** An event that crashed the actors twice is skipped, and recorded as a failure of its rules. */
  #reactionsTo(state: LiveState, event: SeenEvent, plan: ActionPlan): Reaction[] {
    let reactions: Reaction[] = [];
    const passed = this.#ports.quarantine.run(
      `event ${event.id}`,
      () => {
        reactions = this.#match(state, event, plan);
      },
      (error) => {
        const trigger = { ...triggerOf(event), project: null };
        reactions = this.#firedBy(state, event).map((rule) => ({ kind: "skip", rule_id: rule.id, trigger, error }));
      },
    );
    return passed === null ? reactions : [{ kind: "pass", event_id: event.id, error: passed }, ...reactions];
  }

  #match(state: LiveState, event: SeenEvent, plan: ActionPlan): Reaction[] {
    const reactions: Reaction[] = [];
    const key = event.run_id !== null ? `run:${event.run_id}` : event.flow_id !== null ? `flow:${event.flow_id}` : null;
    if (key !== null && !event.name.startsWith("expectation.")) {
      const { id: event_id, occurred, run_id, flow_id } = event;
      for (const { id: rule_id } of this.#index.metBy(event)) reactions.push({ kind: "meet", rule_id, event_id, key, occurred });
      for (const { id: rule_id } of this.#index.armedBy(event))
        reactions.push({ kind: "arm", rule_id, event_id, key, run_id, flow_id, occurred });
    }
    for (const rule of this.#firedBy(state, event)) {
      if (event.id <= rule.since_event) continue;
      const actions = plan.add(rule.spec, event);
      reactions.push({ kind: "fire", rule_id: rule.id, trigger: triggerOf(event), created_by: event.created_by, actions });
    }
    return reactions;
  }

  /** The rules that the event fires: matching rules, and the rule whose expectation has lapsed. */
  #firedBy(state: LiveState, event: SeenEvent): Rule[] {
    const fired = this.#index.firedBy(event);
    if (event.name !== LAPSED) return fired;
    const own = state.rules.rules.get(Number(event.payload["rule_id"]));
    return own === undefined || !own.enabled || own.spec.unless === null ? fired : [own, ...fired];
  }

  #takeTick(state: LiveState, { rule_id, due }: ClockTick): void {
    if (this.#ticks.get(rule_id)?.due === due) return;
    this.#ticks.set(rule_id, { after: state.rules.newestEvent, due, ticket: 0, tries: 0 });
  }

  /** Passes on the deadline and the ticks for which all earlier events are processed. */
  #passDue(state: LiveState, out: Outbox): void {
    const { cursor } = state.rules;
    if (this.#deadline !== null && this.#deadline.after <= cursor) {
      out.send(DISPATCHER, { kind: "Lapse", core: this.#ports.epoch(), due: this.#deadline.due } satisfies Lapse);
      this.#deadline = null;
    }
    for (const [ruleId, tick] of this.#ticks) {
      if (tick.ticket !== 0 || tick.after > cursor) continue;
      const args = lookOf(state.rules.rules.get(ruleId), tick.due);
      if (args === null) this.#endTick(ruleId, tick.due, "met", out);
      else tick.ticket = this.#ask({ query: "expected_event", args }, out);
    }
  }

  #endTick(rule_id: number, due: number, outcome: TickDone["outcome"], out: Outbox): void {
    this.#ticks.delete(rule_id);
    out.send(DISPATCHER, { kind: "TickDone", core: this.#ports.epoch(), rule_id, due, outcome } satisfies TickDone);
  }

  #reindex(state: LiveState): void {
    const { version } = state.rules;
    if (this.#indexed === version) return;
    this.#index = new RuleIndex(state.rules.rules.values());
    this.#indexed = version;
  }
}

/** The search range of a clock-armed rule at a tick; null if the rule is newer than the range. */
function lookOf(rule: Rule | undefined, due: number): Extract<RuleQuestion, { query: "expected_event" }>["args"] | null {
  if (rule === undefined || !rule.enabled || rule.spec.at === null || rule.spec.unless === null) return null;
  const { unless, within, at } = rule.spec;
  // Without a window of its own, the rule looks back as far as the time to its next tick.
  const interval = (nextTick(at.cron, at.tz, due) ?? due) - due;
  const from = due - (within === null ? interval : within * SECOND_US);
  return rule.since_time > from ? null : { match: unless, from_us: from, to_us: due };
}

function triggerOf(event: SeenEvent): Trigger {
  const { id, name, run_id, flow_id, project, depth } = event;
  return { event_id: id, name, run_id, flow_id, project, depth };
}

/**
 * Rules: every event that matches a rule fires the rule once, unless a guard holds it back; per_run rules fire once for a
 * run; the outcomes of a firing are those of its actions, in order; and a message is sent only after it is stored.
 */
import type { DeliveryRequest } from "#actors/rule-engine/rule-messages";
import type { FullSpec } from "#protocol/records/rule-spec";
import { Violation } from "../trace.ts";
import type { Checker, Operation } from "./checker.ts";
import { type CommittedEvent, type CommittedRule, means, type RuleHistory } from "./rule-history.ts";

const ONCE = "a rule fires once";
const DEPTH_MAX = 8;
const WINDOW_SECONDS = 60;
const SECOND_US = 1e6;

interface Firing {
  rule: number;
  event: number;
  outcomes: number;
  open: boolean;
}

export class RulesChecker implements Checker {
  readonly #known: RuleHistory;
  readonly #firings = new Map<number, Firing>();
  /** By rule and event, and by rule and run. */
  readonly #byEvent = new Set<string>();
  readonly #byRun = new Map<string, number>();
  /** The last firing of each rule. */
  readonly #previous = new Map<number, number>();
  /** Seconds of the firings that count towards the rate, by rule. */
  readonly #lately = new Map<number, number[]>();
  /** Stored messages without an answer. */
  readonly #outbound = new Set<number>();
  /** The idempotency key with which each message was sent. */
  readonly #keys = new Map<number, string>();
  #checked = 0;

  constructor(known: RuleHistory) {
    this.#known = known;
  }

  operation(operation: Operation): void {
    switch (operation.name) {
      case "put_cursor":
        return this.#moveCursor(operation);
      case "put_firing":
        return this.#putFiring(operation);
      case "put_outbound":
        this.#outbound.add(operation.number("id"));
        return;
      case "delete_outbound":
        if (!this.#outbound.delete(operation.number("id")))
          fail("messages are answered once", `message ${operation.number("id")}`);
        return;
      case "put_chain":
      case "put_event_chain":
        if (operation.number("depth") > DEPTH_MAX) fail("chains of rules end", `one has come to ${operation.number("depth")}`);
        return;
      default:
    }
  }

  /** A message is sent. */
  left({ id, ...request }: DeliveryRequest): void {
    const key = request.kind === "WebhookRequest" ? (request.headers["idempotency-key"] ?? "") : request.message_id;
    const known = this.#keys.get(id) ?? key;
    if (known !== key || key === "") fail("a message keeps its key", `message ${id} left under ${known}, then under ${key}`);
    if (!this.#outbound.has(id) && !this.#keys.has(id)) fail("nothing leaves before its commit", `message ${id}`);
    this.#keys.set(id, key);
  }

  atRest(): void {
    const open = [...this.#firings].find(([, firing]) => firing.open);
    if (open !== undefined) fail("every firing ends", `firing ${open[0]} of rule ${open[1].rule}`);
    if (this.unfinished !== null) fail("every message is answered", this.unfinished);
  }

  /** Firings that wait for an external result, and events that rules have not processed. */
  get unfinished(): string | null {
    const [waiting] = this.#outbound;
    if (waiting !== undefined) return `message ${waiting} to the outside has no answer`;
    return this.#missed(this.#checked, this.#known.events.length);
  }

  #moveCursor(operation: Operation): void {
    const to = operation.number("event_id");
    const { cursor, events } = this.#known;
    if (to < cursor) fail("the cursor only grows", `${to} after ${cursor}`);
    if (to > events.length) fail("the cursor is behind the events", `it is at ${to}, the newest event is ${events.length}`);
    this.#known.cursor = to;
    const missed = this.#missed(this.#checked, to);
    if (missed !== null) fail("no event is missed", missed);
    this.#checked = to;
  }

  /** A current rule that should have fired for one of these events but has not, or null. */
  #missed(after: number, upTo: number): string | null {
    for (const event of this.#known.between(after, upTo)) {
      if (event.name.startsWith("rule.") || this.#known.passed.has(event.id) || this.#known.isGone(event)) continue;
      for (const rule of this.#known.rules.values()) {
        if (!this.#mustFire(rule, event) || this.#byEvent.has(`${rule.id} ${event.id}`)) continue;
        return `rule ${rule.id} did not fire for event ${event.id} (${event.name})`;
      }
    }
    return null;
  }

  #mustFire(rule: CommittedRule, event: CommittedEvent): boolean {
    const { spec } = rule;
    if (!rule.enabled || event.id <= rule.since) return false;
    // These guards depend on the time; each firing checks them.
    if (spec.cooldown_seconds > 0 || spec.max_per_minute > 0) return false;
    if (spec.once === "per_run" && this.#byRun.has(`${rule.id} ${event.run}`)) return false;
    if (event.creators.includes(`rule:${rule.id}`)) return false;
    return isFor(rule, event) === true;
  }

  #putFiring(operation: Operation): void {
    const id = operation.number("id");
    const known = this.#firings.get(id);
    const firing = known ?? this.#begin(operation, id);
    const outcomes = JSON.parse(operation.text("outcomes")) as { index: number }[];
    if (!firing.open && known !== undefined) fail("a firing ends once", `firing ${id}`);
    if (outcomes.some(({ index }, at) => index !== at) || outcomes.length < firing.outcomes)
      fail("outcomes are those of the actions", `firing ${id} has ${JSON.stringify(outcomes.map(({ index }) => index))}`);
    this.#firings.set(id, { ...firing, outcomes: outcomes.length, open: operation.get("pending") !== null });
  }

  #begin(operation: Operation, id: number): Firing {
    const [ruleId, eventId, timestamp] = [
      operation.number("rule_id"),
      operation.number("event_id"),
      operation.number("timestamp"),
    ];
    const rule = this.#known.rules.get(ruleId);
    const event = this.#known.event(eventId);
    if (rule === undefined || event === undefined)
      return fail("rows have owners", `firing ${id} of rule ${ruleId}, event ${eventId}`);
    if (this.#byEvent.has(`${ruleId} ${eventId}`)) fail(ONCE, `rule ${ruleId} fired twice for event ${eventId}`);
    this.#byEvent.add(`${ruleId} ${eventId}`);
    if (!rule.enabled || eventId <= rule.since) fail("rules fire while they watch", `rule ${ruleId} fired for event ${eventId}`);
    if (isFor(rule, event) === false && !this.#known.isGone(event))
      fail("rules fire for what they are for", `rule ${ruleId} fired for event ${eventId} (${event.name})`);
    this.#checkGuards(rule, event, timestamp);
    return { rule: ruleId, event: eventId, outcomes: 0, open: true };
  }

  #checkGuards({ id, spec }: CommittedRule, event: CommittedEvent, timestamp: number): void {
    const run = `${id} ${event.run}`;
    if (spec.once === "per_run" && event.run !== null && this.#byRun.has(run))
      fail(ONCE, `rule ${id} fired twice for run ${event.run}`);
    if (event.run !== null) this.#byRun.set(run, event.id);
    if (!this.#known.isGone(event) && event.creators.every((creator) => creator === `rule:${id}`) && event.creators.length > 0)
      fail("rules leave their own runs alone", `rule ${id} fired for event ${event.id}`);
    this.#checkRate(id, spec, timestamp);
  }

  /** Checks the guards by time, as documented: firings from before the clock was set back do not count. */
  #checkRate(id: number, { cooldown_seconds, max_per_minute }: FullSpec, timestamp: number): void {
    const last = this.#previous.get(id);
    if (last !== undefined && last <= timestamp && timestamp - last < cooldown_seconds * SECOND_US)
      fail("a rule cools down", `rule ${id} fired ${(timestamp - last) / SECOND_US} s after the last time`);
    const second = Math.floor(timestamp / SECOND_US);
    const lately = (this.#lately.get(id) ?? []).filter((at) => at > second - WINDOW_SECONDS && at <= second);
    if (max_per_minute > 0 && lately.length >= max_per_minute)
      fail("a rule keeps to its rate", `rule ${id} fired ${lately.length + 1} times within a minute`);
    if (max_per_minute > 0) this.#lately.set(id, [...lately, second]);
    this.#previous.set(id, timestamp);
  }
}

/** Whether the event concerns the rule: one that the rule matches, or the end of its expectation. */
function isFor({ id, spec }: CommittedRule, event: CommittedEvent): boolean | "maybe" {
  if (event.name === "expectation.lapsed" && spec.unless !== null) return event.payload?.["rule_id"] === id;
  return spec.unless === null ? means(spec.when, event) : false;
}

function fail(rule: string, message: string): never {
  throw new Violation(rule, message);
}

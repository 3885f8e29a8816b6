/** Rules in memory, and their firings, expectations and messages in progress. Part of the live state of the dispatch group. */

import type { FullSpec } from "#protocol/records/rule-spec";
import { parseJson } from "#protocol/values/json";
import type { LoadedRules, RuleRow } from "#storage/load/load-rules";
import type { OutboundContent, OutboundMessage, PlannedAction } from "../../rule-engine/rule-messages.ts";
import { OpenExpectations } from "./open-expectations.ts";
import { RecentRows } from "./recent-rows.ts";
import { SharedTexts } from "./shared-texts.ts";

/** Guard state that has to survive a restart. */
export interface GuardState {
  /** Firings by second, for the rate. */
  seconds: [second: number, count: number][];
  /** The newest decided tick of the rule's clock. */
  tick?: number;
}

export interface Rule extends Omit<RuleRow, "enabled" | "spec"> {
  enabled: boolean;
  spec: FullSpec;
  /** Length of the spec as JSON text. */
  length: number;
  guards: GuardState;
}

/** The event that fired a rule. */
export interface Trigger {
  event_id: number;
  name: string;
  run_id: number | null;
  flow_id: number | null;
  project: string | null;
  /** Number of rules in the chain that led to the event. */
  depth: number;
}

export type Outcome =
  | { index: number; kind: string; status: "completed"; detail: unknown }
  | { index: number; kind: string; status: "failed"; error: string };

/** A firing with pending actions. */
export interface OpenFiring {
  id: number;
  rule_id: number;
  timestamp: number;
  trigger: Trigger;
  outcomes: Outcome[];
  remaining: PlannedAction[];
  /** The outbound message that the firing waits for, 0 for none. */
  outbound: number;
}

/** A rule that has fired for a run. */
interface FiredKey {
  rule_id: number;
  run_id: number;
}

/** Facts about rules that only the store holds. */
export interface RuleFacts {
  /** Whether a rule has fired for a run. */
  hasFired(ruleId: number, runId: number): boolean;
  /** Length of the chain of rules that led to a run. */
  chainOf(runId: number): number;
}

/** Limit of open firings and outbound messages; beyond it, rules process no further events, which wait in the store. */
const FIRINGS_OPEN_MAX = 10_000;
const OUTBOUND_LENGTH_MAX = 64 * 1024 * 1024;

export class RuleBook {
  readonly rules = new Map<number, Rule>();
  /** Total length of all specs as JSON text. */
  length = 0;
  readonly firings = new Map<number, OpenFiring>();
  readonly expectations = new OpenExpectations();
  /** Outbound messages without an answer, by id. */
  readonly outbound = new Map<number, OutboundMessage>();
  /** Outbound messages to be sent once committed. */
  readonly unsentOutbound: { turn: number; message: OutboundMessage }[] = [];
  readonly nextIds: LoadedRules["next_ids"];
  /** Which rules have fired for which runs. */
  readonly fired: RecentRows<FiredKey, true>;
  /** Chain lengths by run. */
  readonly chains: RecentRows<number, number>;
  /** Incremented at each change of a rule, so that derived data can be refreshed. */
  version = 1;
  /** The step that decided the newest event; 0 for an event from before this start. */
  newestEventStep = 0;
  /** The newest event whose reactions are decided, and the cursor as stored. */
  cursor: number;
  storedCursor: number;

  readonly #outboundLengths = new Map<number, number>();
  #outboundLength = 0;

  constructor(stored: LoadedRules, facts: RuleFacts) {
    this.nextIds = stored.next_ids;
    this.cursor = stored.cursor;
    this.storedCursor = stored.cursor;
    this.fired = new RecentRows(
      ({ rule_id, run_id }) => (facts.hasFired(rule_id, run_id) ? true : null),
      ({ rule_id, run_id }) => `${rule_id} ${run_id}`,
    );
    this.chains = new RecentRows((run) => facts.chainOf(run));
    this.#loadRules(stored.rules);
    for (const { outcomes, pending, id, rule_id, timestamp } of stored.firings) {
      const { trigger, remaining, outbound } = parseJson(pending) as Pick<OpenFiring, "trigger" | "remaining" | "outbound">;
      this.firings.set(id, { id, rule_id, timestamp, trigger, remaining, outbound, outcomes: parseJson(outcomes) as Outcome[] });
    }
    for (const { id, firing_id, request } of stored.outbound) {
      const message: OutboundMessage = { ...(parseJson(request) as OutboundContent), id, firing_id };
      this.addOutbound(message, request.length);
      this.unsentOutbound.push({ turn: 0, message });
    }
    for (const expectation of stored.expectations) this.expectations.add(expectation);
  }

  /** Rules with equal texts share their spec, which is replaced but never changed: many rules differ by their name alone. */
  #loadRules(stored: LoadedRules["rules"]): void {
    const specs = new SharedTexts((text) => parseJson(text) as FullSpec);
    for (const { rule, guards: text } of stored) {
      const { length } = rule.spec;
      const guards = text === null ? { seconds: [] } : (JSON.parse(text) as GuardState);
      this.rules.set(rule.id, { ...rule, enabled: rule.enabled === 1, spec: specs.get(rule.spec), length, guards });
      this.length += length;
    }
  }

  /** The newest decided event. */
  get newestEvent(): number {
    return this.nextIds.event - 1;
  }

  /** `length`: that of the content as JSON text. */
  addOutbound(message: OutboundMessage, length: number): void {
    this.outbound.set(message.id, message);
    this.#outboundLengths.set(message.id, length);
    this.#outboundLength += length;
  }

  /** False for an unknown message. */
  removeOutbound(id: number): boolean {
    this.#outboundLength -= this.#outboundLengths.get(id) ?? 0;
    this.#outboundLengths.delete(id);
    return this.outbound.delete(id);
  }

  /** True while too many firings and messages are in progress: then no further event is processed. */
  get isBackedUp(): boolean {
    return this.firings.size >= FIRINGS_OPEN_MAX || this.#outboundLength >= OUTBOUND_LENGTH_MAX;
  }

  /** Numbers events that a step decides, and returns the first of their ids. */
  takeEvents(step: number, count = 1): number {
    this.newestEventStep = step;
    return this.take("event", count);
  }

  take(name: keyof LoadedRules["next_ids"], count = 1): number {
    const id = this.nextIds[name];
    this.nextIds[name] += count;
    return id;
  }
}

/** No rules, and nothing in progress. */
export const NO_RULES: LoadedRules = {
  rules: [],
  firings: [],
  expectations: [],
  outbound: [],
  cursor: 0,
  next_ids: { rule: 1, firing: 1, expectation: 1, outbound: 1, event: 1 },
};

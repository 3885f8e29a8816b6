/**
 * A rule in full: every field of the stored form is present, and every error in a rule is found when the rule is written, not
 * when it fires. Templates are checked by the rule engine, which holds their parser.
 */

import { nearestName } from "../values/nearest-name.ts";
import { checkMatchedName, STATES } from "../vocabulary.ts";
import type { ActionKind, RuleAction, RuleMatch, RuleSpec } from "./rule.ts";

export interface FullMatch {
  events: string[];
  flows: string[];
  tags: string[];
  states: string[];
  project: string | null;
}

export interface FullAction {
  kind: ActionKind;
  flow: string | null;
  parameters: Record<string, unknown>;
  state_type: string | null;
  message: string | null;
  schedule_id: number | null;
  url: string | null;
  method: string | null;
  headers: Record<string, unknown>;
  /** Null: the default of the kind. */
  body: unknown;
  to: string[];
  subject: string | null;
  callable: string | null;
}

export interface FullSpec {
  when: FullMatch;
  do: FullAction[];
  once: "per_run" | "never";
  cooldown_seconds: number;
  /** 0 or less: no limit. */
  max_per_minute: number;
  allow_self: boolean;
  unless: FullMatch | null;
  within: number | null;
  at: { cron: string; tz: string | null } | null;
}

/** Default guard of a rule: a faulty rule fires at most once a second. */
const MAX_PER_MINUTE_DEFAULT = 60;

export type CheckedSpec = { ok: true; spec: FullSpec } | { ok: false; error: string };

/** Returns the error in a cron expression and zone, or null. */
export type CheckClock = (cron: string, tz: string | null) => string | null;

/** Fills in missing fields and checks the rest. Only rules from code may call functions. */
export function completeSpec(said: RuleSpec, checkClock: CheckClock, source: "ui" | "code" = "ui"): CheckedSpec {
  const spec: FullSpec = {
    when: completeMatch(said.when),
    do: (said.do ?? []).map(completeAction),
    once: said.once ?? "per_run",
    cooldown_seconds: said.cooldown_seconds ?? 0,
    max_per_minute: said.max_per_minute ?? MAX_PER_MINUTE_DEFAULT,
    allow_self: said.allow_self ?? false,
    unless: said.unless == null ? null : completeMatch(said.unless),
    within: said.within ?? null,
    at: said.at == null ? null : { cron: said.at.cron, tz: said.at.tz ?? null },
  };
  const error = checkActions(spec.do, source) ?? checkMatch("when", spec.when) ?? checkProactive(spec, checkClock);
  return error === null ? { ok: true, spec } : { ok: false, error };
}

function completeMatch(said: RuleMatch | null | undefined): FullMatch {
  return {
    events: (said?.events ?? []).map((name) => name.trim()),
    flows: said?.flows ?? [],
    tags: said?.tags ?? [],
    states: said?.states ?? [],
    project: said?.project ?? null,
  };
}

function completeAction(said: RuleAction): FullAction {
  return {
    kind: said.kind,
    flow: said.flow ?? null,
    parameters: said.parameters ?? {},
    state_type: said.state_type ?? null,
    message: said.message ?? null,
    schedule_id: said.schedule_id ?? null,
    url: said.url ?? null,
    method: said.method ?? null,
    headers: said.headers ?? {},
    body: said.body ?? null,
    to: said.to ?? [],
    subject: said.subject ?? null,
    callable: said.callable ?? null,
  };
}

/** The missing field of an action of each kind, or null. */
const NEEDS: Readonly<Record<ActionKind, (action: FullAction) => string | null>> = {
  run_flow: ({ flow }) => (flow ? null : "run_flow needs a flow"),
  cancel_run: () => null,
  set_state: ({ state_type }) => (state_type ? checkState(state_type) : "set_state needs a state_type"),
  pause_schedule: () => null,
  resume_schedule: () => null,
  webhook: ({ url }) => (url ? null : "webhook needs a url"),
  email: ({ to }) => (to.length > 0 ? checkRecipients(to) : "email needs recipients"),
  call: ({ callable }) => (callable ? null : "call needs a callable"),
};

/** One address, bare or after a name: a list in one text, or a line break, would reach further recipients. */
const ADDRESS = /^(?:[^<>,;\p{Cc}]*<[^\s<>,;@\p{Cc}]+@[^\s<>,;@\p{Cc}]+>|[^\s<>,;@\p{Cc}]+@[^\s<>,;@\p{Cc}]+)$/u;

function checkRecipients(recipients: readonly string[]): string | null {
  const wrong = recipients.find((recipient) => !ADDRESS.test(recipient.trim()));
  return wrong === undefined ? null : `email recipient ${JSON.stringify(wrong)} is not an address`;
}

function checkActions(actions: readonly FullAction[], source: "ui" | "code"): string | null {
  if (actions.length === 0) return "a rule needs at least one action";
  for (const [index, action] of actions.entries()) {
    const foreign = action.kind === "call" && source === "ui" ? "call actions are only for rules registered from code" : null;
    const lack = foreign ?? NEEDS[action.kind](action);
    if (lack !== null) return `action ${index}: ${lack}`;
  }
  return null;
}

const STATE_NAMES = STATES.map(({ name }) => name);

function checkState(name: string): string | null {
  if (STATE_NAMES.includes(name)) return null;
  const folded = STATE_NAMES.find((known) => known.toLowerCase() === name.toLowerCase());
  const nearest = folded ?? nearestName(name, STATE_NAMES);
  const hint = nearest === null ? `; known: ${STATE_NAMES.join(", ")}` : `; did you mean "${nearest}"?`;
  return `unknown state "${name}"${hint}`;
}

function checkMatch(clause: "when" | "unless", match: FullMatch): string | null {
  for (const name of match.events) {
    const wrong = checkMatchedName(name);
    if (wrong !== null) return `${clause}: ${wrong}`;
  }
  for (const state of match.states) {
    const wrong = checkState(state);
    if (wrong !== null) return `${clause}: ${wrong}`;
  }
  return null;
}

function checkProactive({ when, unless, within, at }: FullSpec, checkClock: CheckClock): string | null {
  if (within !== null && within <= 0) return "within must be positive";
  if (at !== null) {
    if (unless === null) return "at needs unless: the event that is expected";
    if (when.events.length > 0) return "at and when events exclude each other: a rule is armed by a clock or by an event";
    const wrong = checkClock(at.cron, at.tz);
    if (wrong !== null) return `at: ${wrong}`;
  }
  if (unless === null) return null;
  if (unless.events.length === 0) return "unless needs at least one expected event";
  if (at === null && within === null) return "unless needs within or at";
  if (at === null && when.events.length === 0) return "unless needs when events: what arms the expectation";
  return checkMatch("unless", unless);
}

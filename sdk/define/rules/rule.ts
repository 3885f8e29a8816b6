import type { Event } from "#protocol/records/event";
import type { RuleSpec, RuleMatch as WireMatch } from "#protocol/records/rule";
import { completeSpec } from "#protocol/records/rule-spec";
import type { Run } from "#protocol/records/run";
import { type Duration, parseDuration } from "../duration.ts";
import { type RuleAction, wireAction } from "./rule-actions.ts";

/** Which events a rule matches; every clause that is set must match. */
export interface RuleMatch {
  /** Names, or prefixes ending in "*". */
  events?: readonly string[];
  /** Names of flows. */
  flows?: readonly string[];
  /** State types or sub-states. */
  states?: readonly string[];
  /** One matching tag suffices. */
  tags?: readonly string[];
  /** Null: events of every project, and events without one. Default: the project of the rule. */
  project?: string | null;
}

/** Options of `rule`. */
export interface RuleOptions {
  /** The events that the rule matches. Default: every event of its project. */
  when?: RuleMatch;
  /** The expected event: the rule acts if it is missing for `within` after `when`, or before a tick of `at`. */
  unless?: RuleMatch;
  /** How long the rule waits for the event of `unless` after an event of `when`. */
  within?: Duration;
  /** A clock in place of an event: a five-field cron expression, in UTC unless a zone is given. */
  at?: { cron: string; timezone?: string };
  /** "per_run" (default): once per run. "never": for every event. */
  once?: "per_run" | "never";
  /** Minimum time between two firings. */
  cooldown?: Duration;
  /** Default 60; 0 for no limit. */
  maxPerMinute?: number;
  /** Act also on events of runs that the rule created. */
  allowSelf?: boolean;
  /** Default: the base name of the served directory. */
  project?: string;
}

/** The third argument of a rule's function, beside the event and the run. */
export interface RuleContext {
  /** Aborts when the time limit passes. */
  signal: AbortSignal;
}

/**
 * Called with the event and its run (null for an event without one), both as of the evaluation of the rule. The return value is
 * stored with the firing as JSON; a thrown error makes the action fail.
 */
export type RuleFunction = (event: Event, run: Run | null, context: RuleContext) => unknown;

/** A declared rule with checked options. */
export interface RuleDefinition {
  name: string;
  /** The option `project`; null means the base name of the served directory. */
  project: string | null;
  spec: RuleSpec;
  /** Null for a rule whose actions are data. */
  fn: RuleFunction | null;
}

/** A rule whose actions are data, as rule() returns it. */
export interface DataRule {
  /** The name of the rule. */
  readonly name: string;
}

const DEFINITION = Symbol.for("millrace.rule");

/**
 * Declares a rule: `rule(name, options, fn)` or `rule(name, options, actions)`. Export the rule so that the server finds it. A
 * function runs in a process beside the server, at least once per firing, for at most 10 seconds. Actions are data and are
 * executed by the server itself, in order; a failed action does not stop the others.
 * @throws TypeError without a name, or without a function or actions, for an event or state that does not exist, and for an
 * incomplete action; RangeError for durations.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { rule } from "millrace";
 * import { fireRule } from "millrace/testing";
 *
 * export const report = rule("report-failure", { when: { events: ["run.failed"] } }, async (event, run) => `${run?.name}: ${event.name}`);
 *
 * assert.equal(await fireRule(report, { name: "run.failed" }, { name: "brave-otter" }), "brave-otter: run.failed");
 * ```
 */
export function rule(name: string, options: RuleOptions, fn: RuleFunction): RuleFunction;
export function rule(name: string, options: RuleOptions, actions: readonly RuleAction[]): DataRule;
export function rule(name: string, options: RuleOptions, does: RuleFunction | readonly RuleAction[]): RuleFunction | DataRule {
  if (typeof name !== "string" || name === "") throw new TypeError("a rule needs a name: rule(name, options, fn)");
  const fn = typeof does === "function" ? does : null;
  if (fn === null && !Array.isArray(does)) throw new TypeError(`rule "${name}" needs a function or a list of actions`);
  const actions = typeof does === "function" ? [{ kind: "call" as const, callable: name }] : does.map(wireAction);
  const spec = { ...wireSpec(options), do: actions };
  // The server checks the clock and the templates; everything else is checked here, so that the error points at the
  // declaration.
  const checked = completeSpec(spec, () => null, "code");
  if (!checked.ok) throw new TypeError(`rule "${name}": ${checked.error}`);
  const definition: RuleDefinition = { name, project: options.project ?? null, spec, fn };
  if (fn === null) return Object.defineProperty({ name }, DEFINITION, { value: definition });
  const call: RuleFunction = (event, run, context) => fn(event, run, context);
  Object.defineProperty(call, "name", { value: name });
  return Object.defineProperty(call, DEFINITION, { value: definition });
}

/** The definition behind a value returned by rule(), also of another copy of this package; else undefined. */
export function ruleOf(value: unknown): RuleDefinition | undefined {
  if (value === null || (typeof value !== "function" && typeof value !== "object")) return undefined;
  return DEFINITION in value ? (value[DEFINITION] as RuleDefinition) : undefined;
}

/**
 * The return value of a rule's function as JSON text.
 * @throws TypeError for a value that is not JSON.
 */
export function ruleResult(value: unknown): string {
  const text = value === undefined ? "null" : (JSON.stringify(value) as string | undefined);
  if (text === undefined) throw new TypeError(`a rule returns a value that is JSON, not a ${typeof value}`);
  return text;
}

/** The clauses of a definition, with the own project where no project is set. */
export function scopedSpec({ project, spec }: RuleDefinition, ownProject: string): RuleSpec {
  const scoped = (match: WireMatch | null | undefined): WireMatch => ({
    ...match,
    project: match?.project === undefined ? (project ?? ownProject) : match.project,
  });
  return { ...spec, when: scoped(spec.when), ...(spec.unless == null ? {} : { unless: scoped(spec.unless) }) };
}

function wireSpec(options: RuleOptions): RuleSpec {
  const { when, unless, within, at, once, cooldown, maxPerMinute, allowSelf } = options;
  return {
    ...(when === undefined ? {} : { when: wireMatch(when) }),
    ...(once === undefined ? {} : { once }),
    ...(cooldown === undefined ? {} : { cooldown_seconds: parseDuration(cooldown) }),
    ...(maxPerMinute === undefined ? {} : { max_per_minute: maxPerMinute }),
    ...(allowSelf === undefined ? {} : { allow_self: allowSelf }),
    ...(unless === undefined ? {} : { unless: wireMatch(unless) }),
    ...(within === undefined ? {} : { within: parseDuration(within) }),
    ...(at === undefined ? {} : { at: { cron: at.cron, tz: at.timezone ?? null } }),
  };
}

function wireMatch({ events, flows, states, tags, project }: RuleMatch): WireMatch {
  return {
    ...(events === undefined ? {} : { events: [...events] }),
    ...(flows === undefined ? {} : { flows: [...flows] }),
    ...(states === undefined ? {} : { states: [...states] }),
    ...(tags === undefined ? {} : { tags: [...tags] }),
    ...(project === undefined ? {} : { project }),
  };
}

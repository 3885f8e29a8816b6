import type { Event } from "#protocol/records/event";
import type { Run } from "#protocol/records/run";
import { type RuleFunction, ruleOf, ruleResult } from "../define/rules/rule.ts";

/** The event of a test: its name, and any other relevant fields. */
export type TestEvent = { name: string } & Partial<Event>;

const NO_ID = "00000000-0000-7000-8000-000000000001";
/** 2026-01-01T00:00:00Z, the start of simulated time in tests. */
const NOW_US = 1_767_225_600_000_000;

/**
 * Calls the function of a rule in this process, as the server would for an event that the rule matches, and resolves to the
 * value stored with the firing: the result as JSON. Fields that the test omits have plain values.
 * @param run the event's run, null for an event without one
 * @throws TypeError when `rule` was not made by rule() or has no function, and for a result that is not JSON; errors of the
 * function
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { rule } from "millrace";
 * import { fireRule } from "millrace/testing";
 *
 * const large = rule("large-order", { when: { events: ["order.created"] } }, async ({ payload }) => {
 *   return Number(payload["total"]) > 1000 ? "reviewed by a person" : "passed";
 * });
 *
 * assert.equal(await fireRule(large, { name: "order.created", payload: { total: 12 } }), "passed");
 * ```
 */
export async function fireRule(rule: RuleFunction, event: TestEvent, run: Partial<Run> | null = null): Promise<unknown> {
  const definition = ruleOf(rule);
  if (definition === undefined) throw new TypeError("fireRule() takes what rule() returned");
  const { name, fn } = definition;
  if (fn === null) throw new TypeError(`rule "${name}" has actions that are data, and no function to call`);
  const { signal } = new AbortController();
  const whole = run === null ? null : wholeRun(run);
  return JSON.parse(ruleResult(await fn(wholeEvent(event, whole), whole, { signal }))) as unknown;
}

function wholeEvent(event: TestEvent, run: Run | null): Event {
  const custom = { kind: "custom", id: "", name: event.name };
  const resource = run === null ? custom : { kind: "run", id: run.external_id, name: run.name };
  const about = { resource, related: [], payload: {}, run_id: run?.id ?? null, flow_id: run?.flow_id ?? null };
  return { id: 1, external_id: NO_ID, seq: 1, occurred: NOW_US, ...about, ...event } as Event;
}

function wholeRun(run: Partial<Run>): Run {
  const state = { type: "Completed", name: "Completed", timestamp: NOW_US, message: null, details: {} };
  const identity = { id: 1, external_id: NO_ID, name: "test-run", project: "test", flow_id: 1, flow_name: "test" };
  const rest = { parameters: {}, tags: [], attempt: 0, created_by: "test", created_at: NOW_US, crash_count: 0, failure_count: 0 };
  return { ...identity, state, ...rest, ...run } as Run;
}

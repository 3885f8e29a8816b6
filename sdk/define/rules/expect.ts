/** Rules about missing events: `rule("stuck", expectWithin("1h", …), …)`, `rule("no report", expectBy("0 8 * * *", …), …)`. */
import type { Duration } from "../duration.ts";
import type { RuleMatch, RuleOptions } from "./rule.ts";

/** Options of a rule that acts on a missing event; combine with further options: `{ ...expectBy(…), once: "never" }`. */
export type Expectation = Pick<RuleOptions, "when" | "unless" | "within" | "at">;

/**
 * Expects an event after another one in time. Each event that matches `after` opens an expectation of its own, for its run, or
 * for its flow if it has no run.
 * @param within how long after the event, by the times of the events
 * @param expected the event that must follow
 * @example
 * ```ts
 * import { expectWithin, rule } from "millrace";
 *
 * export const late = rule(
 *   "late",
 *   expectWithin("1h", { events: ["run.completed"] }, { after: { events: ["run.running"] } }),
 *   async (event) => console.log(`${event.name} did not happen in time`),
 * );
 * ```
 */
export function expectWithin(within: Duration, expected: RuleMatch, { after }: { after: RuleMatch }): Expectation {
  return { when: after, unless: expected, within };
}

/** Options of `expectBy`. */
export interface ExpectByOptions {
  /** IANA name. Default: UTC. */
  timezone?: string;
  /** How far to look back from each tick. Default: the time until the next tick. */
  within?: Duration;
}

/**
 * Expects an event before each tick of a clock.
 * @param cron a five-field cron expression
 * @param expected the event that must have happened
 * @example
 * ```ts
 * import { expectBy, rule } from "millrace";
 *
 * export const missing = rule(
 *   "missing-import",
 *   expectBy("0 7 * * *", { events: ["orders.imported"] }, { timezone: "Europe/Paris" }),
 *   async () => console.log("no import since yesterday"),
 * );
 * ```
 */
export function expectBy(cron: string, expected: RuleMatch, { timezone, within }: ExpectByOptions = {}): Expectation {
  const at = timezone === undefined ? { cron } : { cron, timezone };
  return { unless: expected, at, ...(within === undefined ? {} : { within }) };
}

/** Rules about what does not happen: `rule("stuck", expectWithin("1h", …), …)`, `rule("no report", expectBy("0 8 * * *", …), …)`. */
import type { Duration } from "./duration.ts";
import type { RuleMatch, RuleOptions } from "./rule.ts";

/** Options of a rule that acts when an event stays away; further ones stand beside it: `{ ...expectBy(…), once: "never" }`. */
export type Expectation = Pick<RuleOptions, "when" | "unless" | "within" | "at">;

/**
 * Something is to follow an event in time. Each event that matches `after` is waited for by itself: that of its run, or of its
 * flow where it has no run.
 * @param within how long after it, by the times of the events
 * @param expected what is to follow
 */
export function expectWithin(within: Duration, expected: RuleMatch, { after }: { after: RuleMatch }): Expectation {
  return { when: after, unless: expected, within };
}

export interface ExpectByOptions {
  /** IANA name. Default: UTC. */
  timezone?: string;
  /** How far to look back from each tick. Default: as far as the next one is away. */
  within?: Duration;
}

/**
 * Something is to have happened by each tick of a clock.
 * @param cron a five-field cron expression
 * @param expected what is to have happened
 */
export function expectBy(cron: string, expected: RuleMatch, { timezone, within }: ExpectByOptions = {}): Expectation {
  const at = timezone === undefined ? { cron } : { cron, timezone };
  return { unless: expected, at, ...(within === undefined ? {} : { within }) };
}

/** Whether the event that a clock-armed rule expects occurred within a time. */
import type { FullMatch } from "#protocol/rule-spec";
import { matches } from "../event-match.ts";
import { eventsBetween } from "../load-events.ts";
import type { Statements } from "../statements.ts";

/** "true" or "false", as JSON. */
export function expectedEvent(statements: Statements, match: FullMatch, fromUs: number, toUs: number): string {
  for (const name of match.events)
    for (const event of eventsBetween(statements, name, fromUs, toUs)) if (matches(match, event)) return "true";
  return "false";
}

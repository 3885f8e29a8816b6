/** Whether the event that a clock-armed rule expects occurred within a time. */
import type { FullMatch } from "#protocol/records/rule-spec";
import { eventsBetween } from "../load/load-events.ts";
import { matches } from "../read/event-match.ts";
import type { Statements } from "../sqlite/statements.ts";

/** "true" or "false", as JSON. */
export function expectedEvent(statements: Statements, match: FullMatch, fromUs: number, toUs: number): string {
  for (const name of match.events)
    for (const event of eventsBetween(statements, name, fromUs, toUs)) if (matches(match, event)) return "true";
  return "false";
}

/** Whether an event matches the clauses of a rule. */
import type { FullMatch } from "#protocol/records/rule-spec";
import type { SeenEvent } from "../load/load-events.ts";

/** Whether an event satisfies every clause that a match sets. */
export function matches(match: FullMatch, event: SeenEvent): boolean {
  const named = match.events.some((name) =>
    name.endsWith("*") ? event.name.startsWith(name.slice(0, -1)) : event.name === name,
  );
  if (match.events.length > 0 && !named) return false;
  if (match.flows.length > 0 && (event.flow === null || !match.flows.includes(event.flow))) return false;
  if (match.project !== null && match.project !== event.project) return false;
  if (match.states.length > 0 && !match.states.some((state) => event.states.includes(state.toLowerCase()))) return false;
  return hasTag(match, event);
}

/** Whether the event's run has one of the required tags. */
export function hasTag(match: FullMatch, event: SeenEvent): boolean {
  return match.tags.length === 0 || match.tags.some((tag) => event.tags.includes(tag));
}

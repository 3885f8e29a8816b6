/**
 * POST /api/rules/{id}/test: renders the actions of a rule for the latest matching event or for a named event. Executes
 * nothing.
 */

import type { FullMatch, FullSpec } from "#protocol/records/rule-spec";
import { parseJson } from "#protocol/values/json";
import { bytesToUuid } from "#protocol/values/uuid";
import { latestEvents, type SeenEvent, seenEvent } from "../load/load-events.ts";
import { matches } from "../read/event-match.ts";
import type { Statements } from "../sqlite/statements.ts";
import { Budget } from "../templates/budget.ts";
import { type EventValues, renderAction, valuesOf } from "./rendered-actions.ts";

/** Latest events that are searched for a match. */
const TEST_EVENTS = 200;

interface TestedRule {
  id: number;
  name: string;
  external_id: string;
  spec: FullSpec;
}

/** The answer as JSON text, or null for an unknown rule. */
export function ruleTest(statements: Statements, id: number, eventId: number | null, nowUs: number): string | null {
  const sql = "SELECT name, external_id, spec FROM rules WHERE id = ?";
  const row = statements.raw<[string, Uint8Array, string]>(sql).get(id);
  if (row === undefined) return null;
  const [name, externalId, text] = row;
  const spec = parseJson(text) as FullSpec;
  const rule: TestedRule = { id, name, external_id: bytesToUuid(externalId), spec };
  const isProactive = spec.unless !== null;
  // A clock-armed rule matches no event of its own: use any event.
  const wanted = isProactive && spec.at !== null ? null : spec.when;
  const event = eventId === null ? latestMatch(statements, wanted) : seenEvent(statements, eventId);
  if (event === null) return JSON.stringify({ actions: [], event: null, matches: false, note: noEvent(eventId) });
  const fits = isMeant(wanted, event);
  const found = valuesOf(statements, event);
  const shown = isProactive ? lapsed(rule, found, nowUs) : found;
  const actions = spec.do.map((action) => {
    const rendered = renderAction(action, shown, new Budget());
    const { kind } = action;
    return "error" in rendered ? { kind, error: rendered.error } : { kind, rendered: rendered.action };
  });
  const notes = [
    ...(fits ? [] : ["the rule is not for this event and would not fire"]),
    ...(isProactive ? ["the event stands for an expectation that lapses now"] : []),
  ];
  const note = notes.length === 0 ? {} : { note: notes.join("; ") };
  return JSON.stringify({ actions, event: shown.values["event"], matches: fits, ...note });
}

/** Whether a rule would process the event. Events recorded by rules do not fire rules. */
function isMeant(wanted: FullMatch | null, event: SeenEvent): boolean {
  return !event.name.startsWith("rule.") && (wanted === null || matches(wanted, event));
}

function latestMatch(statements: Statements, wanted: FullMatch | null): SeenEvent | null {
  for (const event of latestEvents(statements, TEST_EVENTS)) if (isMeant(wanted, event)) return event;
  return null;
}

function noEvent(eventId: number | null): string {
  return eventId === null ? `none of the latest ${TEST_EVENTS} events matches` : `there is no event ${eventId}`;
}

/** The values as if the rule's expectation had lapsed. */
function lapsed(rule: TestedRule, { values }: EventValues, nowUs: number): EventValues {
  const run = values["run"] as { id: number; name: string } | null;
  const flow = values["flow"] as { name: string; project: string } | null;
  const payload = {
    ...{ rule_id: rule.id, rule: rule.name, flow: flow?.name ?? null, project: flow?.project ?? null },
    ...{ run: run?.id ?? null, run_name: run?.name ?? null, expected: rule.spec.unless?.events ?? [] },
    ...{ deadline: nowUs, armed_at: nowUs, expectation_id: null, synthetic: true },
  };
  const resource = { kind: "rule", id: rule.external_id, name: rule.name };
  const named = { id: 0, seq: 0, name: "expectation.lapsed", occurred: nowUs, resource, payload };
  const event = { ...(values["event"] as object), ...named };
  return { values: { ...values, event, payload }, eventText: JSON.stringify(event) };
}

/**
 * Renders the templates of a rule's actions for an event, each action separately.
 *
 * Runs in reader threads, because a record may be large and a template may run long.
 */

import { ANSWER_PART_BYTES_MAX } from "#protocol/limits";
import type { FullAction } from "#protocol/records/rule-spec";
import { parseJson } from "#protocol/values/json";
import { type SeenEvent, seenEvent } from "../load/load-events.ts";
import type { Statements } from "../sqlite/statements.ts";
import { Budget } from "../templates/budget.ts";
import { renderDeep, renderText, type Values } from "../templates/render.ts";
import { TemplateFailure } from "../templates/values.ts";
import { flowById } from "./flow-record.ts";
import { runById } from "./run-record.ts";

/** An action of a rule that the event fired, as JSON text. */
export interface ActionOfEvent {
  event: number;
  action: string;
}

/** The input of a code rule's function. */
export interface CallInput {
  event: unknown;
  /** Null for an event without a run. */
  run: unknown;
}

/** The action with its texts rendered, or the error. Only a `call` has an input. */
export type RenderedAction = { action: FullAction; input?: CallInput } | { error: string };

/** After this much work, the actions rendered so far are returned: about 20 ms. */
const ANSWER_WORK = 100_000;

const EMAIL_SUBJECT = "{{ run.name ~ ' is ' ~ state.name if run else event.name }}";
const EMAIL_BODY = `{% if run %}Run {{ run.name }} of {{ flow.project }}/{{ flow.name }} is {{ state.name }}.
{{ state.message | default('') or '' }}
{% if parameters %}Parameters:
{% for pair in parameters | dictsort %}  {{ pair[0] }}: {{ pair[1] }}
{% endfor %}{% endif %}{% else %}Event {{ event.name }}:
{{ payload | tojson }}
{% endif %}`;

/** Renders actions in order, at least one, until a bound on work or length is reached. Returns a JSON array. */
export function renderedActions(statements: Statements, items: readonly ActionOfEvent[]): string {
  const { database } = statements;
  // One transaction for all reads, because beginning a transaction costs more than reading a row.
  database.exec("BEGIN");
  try {
    return JSON.stringify(renderSome(statements, items));
  } finally {
    database.exec("COMMIT");
  }
}

function renderSome(statements: Statements, items: readonly ActionOfEvent[]): RenderedAction[] {
  const rendered: RenderedAction[] = [];
  let context: EventContext | null = null;
  let work = 0;
  let length = 0;
  for (const { event, action } of items) {
    if (context?.event !== event) context = contextOf(statements, event);
    const budget = new Budget();
    const { values } = context;
    if (values === null) rendered.push({ error: `event ${event} is gone` });
    else rendered.push(renderAction(parseJson(action) as FullAction, values, budget));
    work += budget.spent;
    // A message that carries the event is as long as the event's record.
    length += action.length + (values?.eventText.length ?? 0);
    if (work >= ANSWER_WORK || length >= ANSWER_PART_BYTES_MAX) break;
  }
  return rendered;
}

interface EventContext {
  event: number;
  values: EventValues | null;
}

function contextOf(statements: Statements, id: number): EventContext {
  const event = seenEvent(statements, id);
  return { event: id, values: event === null ? null : valuesOf(statements, event) };
}

/** The values that templates can use for an event, and the event's record as text. */
export interface EventValues {
  values: Values;
  eventText: string;
}

/** Records are plain copies, so templates can reach no object of the server. */
export function valuesOf(statements: Statements, event: SeenEvent): EventValues {
  const eventText = event.record();
  const record = parseJson(eventText) as Record<string, unknown>;
  const run = event.run_id === null ? null : recordOf(runById(statements, event.run_id));
  const flow = event.flow_id === null ? null : recordOf(flowById(statements, event.flow_id, { isLive: () => true, nowUs: 0 }));
  const parameters = run?.["parameters"] ?? {};
  const values = { event: record, run, flow, payload: record["payload"], state: stateThen(run, event), parameters };
  return { values, eventText };
}

function recordOf(text: string | null): Record<string, unknown> | null {
  return text === null ? null : (parseJson(text) as Record<string, unknown>);
}

/** The state that the event names, otherwise the run's current state. */
function stateThen(run: Record<string, unknown> | null, event: SeenEvent): unknown {
  const now = run?.["state"] as Record<string, unknown> | undefined;
  if (now === undefined) return null;
  const { state, state_type, message } = event.payload;
  if (typeof state !== "string" || typeof state_type !== "string") return now;
  return { ...now, name: state, type: state_type, message: message ?? null, timestamp: event.occurred };
}

export function renderAction(action: FullAction, { values, eventText }: EventValues, budget: Budget): RenderedAction {
  const text = (field: "message" | "subject" | "url", fallback: string | null = null): string | null => {
    const value = action[field] ?? fallback;
    return value === null ? null : renderText(field, value, values, budget);
  };
  const isEmail = action.kind === "email";
  try {
    const rendered: FullAction = {
      ...action,
      parameters: renderDeep("parameters", action.parameters, values, budget) as Record<string, unknown>,
      headers: renderDeep("headers", action.headers, values, budget) as Record<string, unknown>,
      message: text("message"),
      subject: text("subject", isEmail ? EMAIL_SUBJECT : null),
      url: text("url"),
      body: renderDeep("body", action.body ?? (isEmail ? EMAIL_BODY : null), values, budget),
    };
    // A webhook without a body sends the event.
    if (rendered.kind === "webhook" && rendered.body === null) rendered.body = eventText;
    if (rendered.kind !== "call") return { action: rendered };
    return { action: rendered, input: { event: values["event"], run: values["run"] } };
  } catch (cause) {
    if (cause instanceof TemplateFailure) return { error: cause.message };
    throw cause;
  }
}

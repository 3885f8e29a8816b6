/**
 * What the actions of rules are for an event: their templates rendered, each action by itself.
 *
 * Reader threads do that, because a record may be large and a template may try to take long.
 */
import { parseJson } from "#protocol/json";
import { ANSWER_PART_BYTES_MAX } from "#protocol/limits";
import type { FullAction } from "#protocol/rule-spec";
import { type SeenEvent, seenEvent } from "../load-events.ts";
import type { Statements } from "../statements.ts";
import { Budget } from "../templates/budget.ts";
import { renderDeep, renderText, type Values } from "../templates/render.ts";
import { TemplateFailure } from "../templates/values.ts";
import { flowById } from "./flow-record.ts";
import { runById } from "./run-record.ts";

/** An action of a rule that the event made fire, as JSON text. */
export interface ActionOfEvent {
  event: number;
  action: string;
}

/** What the function of a code rule is called with. */
export interface CallInput {
  event: unknown;
  /** Null for an event without a run. */
  run: unknown;
}

/** The action with its texts filled in, or why they could not be. Only a `call` has an input. */
export type RenderedAction = { action: FullAction; input?: CallInput } | { error: string };

/** Work after which an answer is given with what is done: some 20 ms. */
const ANSWER_WORK = 100_000;

const EMAIL_SUBJECT = "{{ run.name ~ ' is ' ~ state.name if run else event.name }}";
const EMAIL_BODY = `{% if run %}Run {{ run.name }} of {{ flow.project }}/{{ flow.name }} is {{ state.name }}.
{{ state.message | default('') or '' }}
{% if parameters %}Parameters:
{% for pair in parameters | dictsort %}  {{ pair[0] }}: {{ pair[1] }}
{% endfor %}{% endif %}{% else %}Event {{ event.name }}:
{{ payload | tojson }}
{% endif %}`;

/** Renders the first of the actions, at least one: as many as are done within a bounded time. A JSON array in their order. */
export function renderedActions(statements: Statements, items: readonly ActionOfEvent[]): string {
  const { database } = statements;
  // One transaction for all that is read: to begin one costs more than a row.
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
    // A message that carries the event is as long as its record.
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

/** What templates see of an event, and its record as text. */
export interface EventValues {
  values: Values;
  eventText: string;
}

/** Records are plain data of their own, so nothing of the server can be reached through them. */
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

/** The state the event speaks of, where it does; else the run's own. */
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
    // Without a body of its own, a webhook carries the event.
    if (rendered.kind === "webhook" && rendered.body === null) rendered.body = eventText;
    if (rendered.kind !== "call") return { action: rendered };
    return { action: rendered, input: { event: values["event"], run: values["run"] } };
  } catch (cause) {
    if (cause instanceof TemplateFailure) return { error: cause.message };
    throw cause;
  }
}

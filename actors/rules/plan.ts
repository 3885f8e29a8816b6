/** What the actions of a rule are for one event: their templates rendered, each by itself. */
import type { FullAction, FullSpec } from "#protocol/rule-spec";
import { recordOf, type SeenEvent } from "#storage/load-events";
import type { Statements } from "#storage/statements";
import type { PlannedAction } from "./messages.ts";
import { renderDeep, renderText } from "./template/render.ts";
import { TemplateFailure } from "./template/values.ts";

type Values = Readonly<Record<string, unknown>>;

/** The names templates can use. Records are plain data of their own, so nothing of the server can be reached through them. */
export function templateValues(statements: Statements, event: SeenEvent): Values {
  const record = JSON.parse(event.record()) as Record<string, unknown>;
  const run = event.run_id === null ? null : recordOf(statements, "run", event.run_id);
  const flow = event.flow_id === null ? null : recordOf(statements, "flow", event.flow_id);
  const payload = record["payload"] as Record<string, unknown>;
  return { event: record, run, flow, payload, state: stateThen(run, event), parameters: run?.["parameters"] ?? {} };
}

/** The state the event speaks of, where it does; else the run's own. */
function stateThen(run: Record<string, unknown> | null, event: SeenEvent): unknown {
  const now = run?.["state"] as Record<string, unknown> | undefined;
  if (now === undefined) return null;
  const { state, state_type, message } = event.payload;
  if (typeof state !== "string" || typeof state_type !== "string") return now;
  return { ...now, name: state, type: state_type, message: message ?? null, timestamp: event.occurred };
}

export function planActions(spec: FullSpec, values: Values): PlannedAction[] {
  return spec.do.map((action, index) => planAction(action, index, values));
}

function planAction(action: FullAction, index: number, values: Values): PlannedAction {
  const { kind } = action;
  try {
    const planned = { index, kind, action: rendered(action, values) };
    return kind === "call" ? { ...planned, input: { event: values["event"], run: values["run"] } } : planned;
  } catch (cause) {
    if (cause instanceof TemplateFailure) return { index, kind, error: cause.message };
    throw cause;
  }
}

function rendered(action: FullAction, values: Values): FullAction {
  const text = (field: "message" | "subject" | "url"): string | null => {
    const value = action[field];
    return value === null ? null : renderText(field, value, values);
  };
  const copy: FullAction = {
    ...action,
    parameters: renderDeep("parameters", action.parameters, values) as Record<string, unknown>,
    headers: renderDeep("headers", action.headers, values) as Record<string, unknown>,
    message: text("message"),
    subject: text("subject"),
    url: text("url"),
    body: renderDeep("body", action.body, values),
  };
  // Without a body of its own, a webhook carries the event.
  if (copy.kind === "webhook" && copy.body === null) copy.body = JSON.stringify(values["event"]);
  return copy;
}

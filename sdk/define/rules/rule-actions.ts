/** Actions of rules as data, for rules that need no function. Texts are templates, as in rules over HTTP. */
import type { RuleAction as WireAction } from "#protocol/records/rule";

/** Creates a run; strings in `parameters` are templates. */
export interface RunFlowAction {
  /** The kind of the action. */
  kind: "run_flow";
  /** A flow of the event's project, or project/name. */
  flow: string;
  /** Parameters of the run. */
  parameters?: Readonly<Record<string, unknown>>;
}

/** Cancels the run of the event. */
export interface CancelRunAction {
  /** The kind of the action. */
  kind: "cancel_run";
}

/** Forces the run of the event into a state. */
export interface SetStateAction {
  /** The kind of the action. */
  kind: "set_state";
  /** A state type or sub-state. */
  stateType: string;
  /** The message of the state. */
  message?: string;
}

/** Pauses or resumes one schedule, or all schedules of a flow; without either, those of the event's flow. */
export interface ScheduleAction {
  /** The kind of the action. */
  kind: "pause_schedule" | "resume_schedule";
  /** A flow of the event's project, or project/name. */
  flow?: string;
  /** The id of a schedule. */
  scheduleId?: number;
}

/** Sends a request, in at most three attempts; without a body it sends the event. */
export interface WebhookAction {
  /** The kind of the action. */
  kind: "webhook";
  /** The address, a template. */
  url: string;
  /** Default: POST. */
  method?: string;
  /** Headers beside the content type. */
  headers?: Readonly<Record<string, string>>;
  /** Text, or JSON whose texts are templates. */
  body?: unknown;
}

/** Sends mail with the server's [email] settings. */
export interface EmailAction {
  /** The kind of the action. */
  kind: "email";
  /** The addresses. */
  to: readonly string[];
  /** The subject, a template. */
  subject?: string;
  /** The text, a template. */
  body?: string;
}

/** An action of a rule, by kind. */
export type RuleAction = RunFlowAction | CancelRunAction | SetStateAction | ScheduleAction | WebhookAction | EmailAction;

/** The action in the wire form. */
export function wireAction(action: RuleAction): WireAction {
  switch (action.kind) {
    case "run_flow":
      return { kind: action.kind, flow: action.flow, parameters: { ...action.parameters } };
    case "set_state":
      return { kind: action.kind, state_type: action.stateType, ...present({ message: action.message }) };
    case "pause_schedule":
    case "resume_schedule":
      return { kind: action.kind, ...present({ flow: action.flow, schedule_id: action.scheduleId }) };
    case "webhook": {
      const { kind, url, method, headers, body } = action;
      return { kind, url, ...present({ method, headers, body }) } as WireAction;
    }
    case "email":
      return { kind: action.kind, to: [...action.to], ...present({ subject: action.subject, body: action.body }) };
    default:
      return { kind: action.kind };
  }
}

function present<Fields extends object>(fields: Fields): Partial<{ [Key in keyof Fields]: NonNullable<Fields[Key]> }> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

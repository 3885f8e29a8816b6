/** The edited form of a rule: texts of fields, and their conversion to a request body. */
import type { ActionKind, RuleAction, RuleBody, RuleMatch, RuleRow } from "#protocol/records/rule";
import { secondsIn, secondsText } from "../../format/duration.ts";

export interface MatchDraft {
  events: string[];
  flows: string[];
  states: string[];
  tags: string[];
  project: string;
}

export interface ActionDraft {
  /** Identifies actions while they are moved. */
  key: number;
  kind: ActionKind;
  flow: string;
  /** JSON. */
  parameters: string;
  state_type: string;
  message: string;
  schedule_id: string;
  url: string;
  method: string;
  /** JSON. */
  headers: string;
  /** JSON, or a text. */
  body: string;
  to: string[];
  subject: string;
  callable: string;
}

export interface RuleDraft {
  name: string;
  armed: "event" | "clock";
  when: MatchDraft;
  /** Fires on a missing event. */
  expects: boolean;
  unless: MatchDraft;
  within: string;
  cron: string;
  tz: string;
  actions: ActionDraft[];
  once: boolean;
  cooldown: string;
  perMinute: string;
  allowSelf: boolean;
}

/** An input that cannot be sent, with its field. */
export class DraftError extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

/** The server's default for a rule without a limit. */
const PER_MINUTE_DEFAULT = 60;

function matchDraft(match: RuleMatch | null | undefined): MatchDraft {
  const { events, flows, states, tags, project } = match ?? {};
  return { events: events ?? [], flows: flows ?? [], states: states ?? [], tags: tags ?? [], project: project ?? "" };
}

let lastKey = 0;

export function newAction(kind: ActionKind): ActionDraft {
  return actionDraft({ kind });
}

function actionDraft(action: RuleAction): ActionDraft {
  return {
    key: ++lastKey,
    kind: action.kind,
    flow: action.flow ?? "",
    parameters: jsonText(action.parameters),
    state_type: action.state_type ?? "",
    message: action.message ?? "",
    schedule_id: action.schedule_id == null ? "" : String(action.schedule_id),
    url: action.url ?? "",
    method: action.method ?? "",
    headers: jsonText(action.headers),
    body: bodyText(action.body),
    to: action.to ?? [],
    subject: action.subject ?? "",
    callable: action.callable ?? "",
  };
}

function jsonText(value: Readonly<Record<string, unknown>> | null | undefined): string {
  return value == null || Object.keys(value).length === 0 ? "" : JSON.stringify(value, null, 2);
}

/** A text unchanged, unless it could be parsed as JSON. */
function bodyText(body: unknown): string {
  if (body === null || body === undefined) return "";
  return typeof body === "string" && typeof readBody(body) === "string" && !body.startsWith('"')
    ? body
    : JSON.stringify(body, null, 2);
}

function readBody(text: string): unknown {
  if (!/^\s*["[{]/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

export const EMPTY_RULE: RuleBody = { name: "", when: { events: [] }, do: [] };

/** The form of a rule, or of a body given as JSON. */
export function draftOf(rule: RuleBody | RuleRow): RuleDraft {
  return {
    name: rule.name,
    armed: rule.at == null ? "event" : "clock",
    when: matchDraft(rule.when),
    expects: rule.unless != null,
    unless: matchDraft(rule.unless),
    within: rule.within == null ? "" : secondsText(rule.within),
    cron: rule.at?.cron ?? "0 12 * * *",
    tz: rule.at?.tz ?? "",
    actions: (rule.do ?? []).map(actionDraft),
    once: rule.once !== "never",
    cooldown: rule.cooldown_seconds ? secondsText(rule.cooldown_seconds) : "",
    perMinute: String(rule.max_per_minute ?? PER_MINUTE_DEFAULT),
    allowSelf: rule.allow_self ?? false,
  };
}

/** The complete body of a draft, so that it also replaces earlier fields. @throws DraftError */
export function bodyOf(draft: RuleDraft): RuleBody {
  const expects = draft.expects || draft.armed === "clock";
  return {
    name: draft.name,
    when: matchOf(draft.armed === "clock" ? { ...draft.when, events: [] } : draft.when),
    do: draft.actions.map(actionOf),
    once: draft.once ? "per_run" : "never",
    cooldown_seconds: draft.cooldown.trim() === "" ? 0 : secondsOf("cooldown_seconds", draft.cooldown),
    max_per_minute: wholeOf("max_per_minute", draft.perMinute, PER_MINUTE_DEFAULT),
    allow_self: draft.allowSelf,
    unless: expects ? matchOf(draft.unless) : null,
    within: expects && draft.within.trim() !== "" ? secondsOf("within", draft.within) : null,
    at: draft.armed === "clock" ? { cron: draft.cron, tz: draft.tz.trim() === "" ? null : draft.tz.trim() } : null,
  };
}

function matchOf({ events, flows, states, tags, project }: MatchDraft): RuleMatch {
  return {
    ...(events.length > 0 && { events }),
    ...(flows.length > 0 && { flows }),
    ...(states.length > 0 && { states }),
    ...(tags.length > 0 && { tags }),
    ...(project !== "" && { project }),
  };
}

function secondsOf(field: string, text: string): number {
  const seconds = secondsIn(text);
  if (seconds === null) throw new DraftError(field, "expected a length such as 45 min, 30 s or 2 h");
  return seconds;
}

function wholeOf(field: string, text: string, missing: number): number {
  if (text.trim() === "") return missing;
  if (!/^\d+$/.test(text.trim())) throw new DraftError(field, "expected a whole number; 0 is no limit");
  return Number(text);
}

/** The fields of each kind of action, in the order of the form. */
export const FIELDS_OF: Readonly<Record<ActionKind, readonly (keyof ActionDraft)[]>> = {
  run_flow: ["flow", "parameters"],
  cancel_run: [],
  set_state: ["state_type", "message"],
  pause_schedule: ["flow", "schedule_id"],
  resume_schedule: ["flow", "schedule_id"],
  webhook: ["method", "url", "headers", "body"],
  email: ["to", "subject", "body"],
  call: ["callable"],
};

function actionOf(draft: ActionDraft, index: number): RuleAction {
  const said: Record<string, unknown> = { kind: draft.kind };
  for (const field of FIELDS_OF[draft.kind]) {
    const value = fieldValue(draft, field, `do.${index}`);
    if (value !== undefined) said[field] = value;
  }
  return said as unknown as RuleAction;
}

function fieldValue(draft: ActionDraft, field: keyof ActionDraft, place: string): unknown {
  const value = draft[field];
  if (Array.isArray(value)) return value.length === 0 ? undefined : value;
  const text = String(value);
  if (text.trim() === "") return undefined;
  if (field === "body") return readBody(text);
  if (field === "schedule_id") return wholeOf(place, text, 0);
  if (field !== "parameters" && field !== "headers") return text;
  const object = readObject(text);
  if (object === null) throw new DraftError(place, `${field} is not a JSON object`);
  return object;
}

function readObject(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** The JSON for editing, without unset fields. */
export function jsonOf(body: RuleBody): string {
  const plain = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  return JSON.stringify(plain, null, 2);
}

/** @throws DraftError */
export function bodyFromJson(text: string): RuleBody {
  const value = readObject(text);
  if (value === null) throw new DraftError("json", "this is not a JSON object");
  // An omitted field is cleared, not kept.
  const cleared = {
    when: {},
    do: [],
    once: "per_run",
    cooldown_seconds: 0,
    max_per_minute: PER_MINUTE_DEFAULT,
    allow_self: false,
  };
  return { name: "", ...cleared, unless: null, within: null, at: null, ...value } as RuleBody;
}

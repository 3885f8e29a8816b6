/** The actions of rules, by kind. An action is either done within the step or needs an outbound message. */

import { PARAMETERS_BYTES_MAX, RULE_CHAIN_DEPTH_MAX } from "#protocol/limits";
import { type ActionKind, RULE_DEPTH_HEADER } from "#protocol/records/rule";
import type { FullAction } from "#protocol/records/rule-spec";
import { isStateType, isTerminal, type State, SUB_STATES } from "#protocol/records/state";
import { canonicalJson } from "#protocol/values/json";
import { exceedsBytes } from "#protocol/values/json-size";
import { checkParameters } from "#protocol/values/parameters";
import type { CallInput } from "#storage/queries/rendered-actions";
import type { Flow } from "../../core/state/flow.ts";
import type { Rule, Trigger } from "../../core/state/rule.ts";
import { isEnded, type Run } from "../../core/state/run.ts";
import type { Schedule } from "../../core/state/schedule.ts";
import type { Turn } from "../../core/turn.ts";
import { createRun } from "../../dispatcher/creation/create-run.ts";
import { lackOfRoom } from "../../dispatcher/creation/lack-of-room.ts";
import { cancelRun } from "../../dispatcher/states/cancel-run.ts";
import { forceRun } from "../../dispatcher/states/move-run.ts";
import { SCHEDULER } from "../../names.ts";
import { pauseSchedule } from "../../scheduler/schedules/pause-schedule.ts";
import { resumeSchedule } from "../../scheduler/schedules/resume-schedule.ts";
import type { OutboundContent } from "../rule-messages.ts";
import { continueChain } from "./chain.ts";

/** The outcome of an action. */
export type ActionResult = { detail: unknown } | { error: string } | { message: OutboundContent };

type RunAction = (turn: Turn, rule: Rule, trigger: Trigger, action: FullAction, input: CallInput | null) => ActionResult;

const ACTIONS: Readonly<Record<ActionKind, RunAction>> = {
  run_flow: runFlow,
  cancel_run: cancel,
  set_state: setState,
  pause_schedule: (turn, rule, trigger, action) =>
    changeSchedules(turn, trigger, action, (schedule) => pauseSchedule(turn, schedule, `rule:${rule.name}`, null)),
  resume_schedule: (turn, _rule, trigger, action) =>
    changeSchedules(turn, trigger, action, (schedule) => resumeSchedule(turn, schedule)),
  webhook,
  email,
  call,
};

export function performAction(
  turn: Turn,
  rule: Rule,
  trigger: Trigger,
  action: FullAction,
  input: CallInput | null,
): ActionResult {
  if (trigger.depth >= RULE_CHAIN_DEPTH_MAX)
    return { error: `the chain of rules that led here is longer than ${RULE_CHAIN_DEPTH_MAX}` };
  return ACTIONS[action.kind](turn.inChain(trigger.depth + 1), rule, trigger, action, input);
}

function runFlow(turn: Turn, rule: Rule, trigger: Trigger, action: FullAction): ActionResult {
  const flow = findFlow(turn, action.flow ?? "", trigger);
  if (typeof flow === "string") return { error: flow };
  const checked = checkParameters(flow.parameter_schema, action.parameters);
  if (!checked.ok) return { error: checked.error };
  const parametersText = canonicalJson(checked.parameters);
  if (exceedsBytes(parametersText, PARAMETERS_BYTES_MAX)) return { error: `parameters exceed ${PARAMETERS_BYTES_MAX} bytes` };
  const full = lackOfRoom(turn, 1);
  if (full !== null) return { error: full.message };
  const name = `${flow.name}-rule-${rule.id}`;
  const run = createRun(turn, flow, { name, parametersText, tags: [], createdBy: `rule:${rule.id}` });
  return { detail: { run_id: run.id, name: turn.state.textsOf(run).name } };
}

/** The flow of this name: in the event's project first, else the only flow of that name; or the error. */
function findFlow(turn: Turn, name: string, trigger: Trigger): Flow | string {
  const slash = name.indexOf("/");
  const full = slash < 0 ? undefined : turn.state.flowByName(name.slice(0, slash), name.slice(slash + 1));
  if (full !== undefined) return full;
  const near = trigger.project === null ? undefined : turn.state.flowByName(trigger.project, name);
  if (near !== undefined) return near;
  const named = [...turn.state.flows.values()].filter((flow) => flow.name === name);
  if (named.length > 1) return `flow "${name}" exists in several projects; use project/flow`;
  return named[0] ?? `flow "${name}" is not registered`;
}

function cancel(turn: Turn, rule: Rule, trigger: Trigger): ActionResult {
  const run = runOf(turn, trigger);
  if (run === undefined) return { error: "event has no run to cancel" };
  if (isEnded(run)) return { detail: { run_id: run.id, already: run.state.name } };
  continueChain(turn, run);
  cancelRun(turn, run, `cancelled by rule ${rule.name}`);
  return { detail: { run_id: run.id, state: run.state.name } };
}

function setState(turn: Turn, rule: Rule, trigger: Trigger, action: FullAction): ActionResult {
  const run = runOf(turn, trigger);
  if (run === undefined) return { error: "event has no run whose state could be set" };
  const name = action.state_type ?? "";
  const type = Object.hasOwn(SUB_STATES, name) ? SUB_STATES[name as keyof typeof SUB_STATES] : name;
  if (!isStateType(type)) return { error: `unknown state "${name}"` };
  if (isEnded(run) && run.state.name === name) return { detail: { run_id: run.id, already: name } };
  const full = isEnded(run) && !isTerminal(type) ? lackOfRoom(turn, 1) : null;
  if (full !== null) return { error: full.message };
  const message = action.message ?? `set by rule ${rule.name}`;
  const state: State = { type, name, timestamp: turn.nowUs, message, details: { forced: true } };
  continueChain(turn, run);
  forceRun(turn, run, state, name === "Skipped" ? { reason: message } : null);
  return { detail: { run_id: run.id, state: run.state.name } };
}

/** The schedule that the action names, else all schedules of the action's or the event's flow. */
function changeSchedules(turn: Turn, trigger: Trigger, action: FullAction, change: (schedule: Schedule) => void): ActionResult {
  const { schedules, flows } = turn.state;
  let chosen: Schedule[] = [];
  let flow: Flow | undefined;
  if (action.schedule_id !== null) {
    const schedule = schedules.get(action.schedule_id);
    if (schedule === undefined) return { error: `schedule ${action.schedule_id} not found` };
    chosen = [schedule];
    flow = schedule.flow;
  } else {
    const found = action.flow === null ? undefined : findFlow(turn, action.flow, trigger);
    if (typeof found === "string") return { error: found };
    flow = found ?? runOf(turn, trigger)?.flow ?? (trigger.flow_id === null ? undefined : flows.get(trigger.flow_id));
    if (flow === undefined) return { error: "event has no flow whose schedules could be changed" };
    chosen = schedules.of(flow);
  }
  for (const schedule of chosen) change(schedule);
  turn.out.send(SCHEDULER, { kind: "SchedulesChanged" });
  return { detail: { flow: flow.name, schedules: chosen.length } };
}

function runOf(turn: Turn, { run_id }: Trigger): Run | undefined {
  return run_id === null ? undefined : turn.state.findRun(run_id);
}

/** Characters that are not allowed in a header, or in a header's name. */
const NO_HEADER_NAME = /[^!#$%&'*+.^_`|~0-9A-Za-z-]/;
const NO_HEADER_VALUE = /[\r\n\0]/;

function webhook(turn: Turn, _rule: Rule, _trigger: Trigger, action: FullAction): ActionResult {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(action.headers)) {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    if (name === "" || NO_HEADER_NAME.test(name) || NO_HEADER_VALUE.test(text))
      return { error: `header ${JSON.stringify(name)} is not valid` };
    headers[name.toLowerCase()] = text;
  }
  headers["content-type"] ??= "application/json";
  // Requests made by the receiver in response belong to the chain.
  headers[RULE_DEPTH_HEADER] = String(turn.ruleDepth);
  // The same for every attempt, also after a crash, so that the receiver can recognise duplicates.
  headers["idempotency-key"] ??= turn.ids.uuid();
  const method = (action.method ?? "POST").toUpperCase();
  if (!/^[A-Z]{1,20}$/.test(method) || method === "CONNECT" || method === "TRACE")
    return { error: `method ${method} is not allowed` };
  const body = typeof action.body === "string" ? action.body : canonicalJson(action.body);
  const sent = { url: action.url ?? "", method, headers, body: method === "GET" || method === "HEAD" ? null : body };
  return { message: { kind: "WebhookRequest", ...sent } };
}

const NO_EMAIL = "email is not configured: add [email] with host and from to millrace.toml";

function email(turn: Turn, _rule: Rule, _trigger: Trigger, action: FullAction): ActionResult {
  if (!turn.state.settings.emailConfigured) return { error: NO_EMAIL };
  // A subject is one line, so that rendered values cannot add headers.
  const subject = (action.subject ?? "").replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
  const text = typeof action.body === "string" ? action.body : canonicalJson(action.body);
  return { message: { kind: "EmailRequest", to: action.to, subject, text, message_id: turn.ids.uuid() } };
}

/** Calls the function of a code rule in the user-code process. */
function call(_turn: Turn, rule: Rule, _trigger: Trigger, action: FullAction, input: CallInput | null): ActionResult {
  const { module } = rule;
  if (module === null || action.callable === null || input === null) return { error: "the rule has no function in code" };
  return { message: { kind: "UserCall", call: { type: "rule", module, name: action.callable, ...input } } };
}

/**
 * The vocabulary of the service as data: the events it records, its reserved prefixes, and the states. Served by GET
 * /api/vocabulary; event names are checked against it.
 */

import Type, { type Static } from "typebox";
import { NAME_LENGTH_MAX } from "./limits.ts";
import { STATE_TYPES, SUB_STATES } from "./records/state.ts";
import { StateTypeSchema } from "./records/state-schema.ts";
import { nearestName } from "./values/nearest-name.ts";
import { Strings } from "./values/scalar.ts";
import { exceedsCharacters } from "./values/text-length.ts";

/** An event of the catalogue. */
export const EventEntry = Type.Object(
  {
    name: Type.String(),
    resource: Type.String({ description: "Kind of the resource the event is about" }),
    payload_fields: Strings,
    when: Type.String(),
  },
  { title: "EventEntry" },
);
export type EventEntry = Static<typeof EventEntry>;

/** A state type, or a sub-state with the type it belongs to. */
export const StateEntry = Type.Object(
  { name: Type.String(), state_type: StateTypeSchema, is_sub_state: Type.Boolean() },
  { title: "StateEntry" },
);
export type StateEntry = Static<typeof StateEntry>;

/** The events of the server, their reserved prefixes, and the states. */
export const Vocabulary = Type.Object(
  { events: Type.Array(EventEntry), reserved_prefixes: Strings, states: Type.Array(StateEntry) },
  { title: "Vocabulary" },
);
export type Vocabulary = Static<typeof Vocabulary>;

const RUN = ["state", "state_type", "message", "flow", "project", "parameters", "created_by"];
const TASK = ["task", "dynamic_key", "state", "message", "flow", "project"];

function event<N extends string>(name: N, resource: string, payload_fields: string[], when: string) {
  return { name, resource, payload_fields, when };
}

/** The events of the catalogue, in the order of the interface; the additions of Millrace come last. */
export const EVENTS = [
  event("run.scheduled", "run", RUN, "Run created, or re-enters Scheduled for a crash rerun"),
  event("run.pending", "run", RUN, "An engine accepted the run"),
  event("run.running", "run", RUN, "User code started"),
  event("run.completed", "run", RUN, "Finished without error"),
  event("run.failed", "run", RUN, "Raised, timed out, or was set failed"),
  event("run.crashed", "run", RUN, "Engine died while the run executed"),
  event("run.cancelled", "run", RUN, "Cancelled"),
  event(
    "run.late",
    "run",
    [...RUN, "scheduled_time", "name"],
    "Scheduled time passed 15 seconds ago and the run has not started",
  ),
  event("run.retrying", "run", RUN, "A retry attempt started"),
  event(
    "run.skipped",
    "run",
    [...RUN, "reason"],
    "Ended Skipped: overlap policy, backfill value already done, catch-up drop, a fire a person skipped (reason user), or upstream skipped that way (reason upstream)",
  ),
  event("run.paused", "run", RUN, "Waiting on input"),
  event("run.resumed", "run", RUN, "Answered and next attempt scheduled"),
  event("task_run.running", "task_run", TASK, "Task started"),
  event("task_run.completed", "task_run", TASK, "Task returned"),
  event("task_run.failed", "task_run", TASK, "Task raised or timed out, after retries"),
  event("task_run.cancelled", "task_run", TASK, "Cancelled with its run"),
  event("task_run.skipped", "task_run", TASK, "Its output target already existed"),
  event("task_run.cached", "task_run", TASK, "Returned a persisted result"),
  event("flow.registered", "flow", ["flow", "project", "module"], "Server registered the flow at start or on handoff"),
  event(
    "flow.disabled",
    "flow",
    ["failures", "window_seconds", "until"],
    "Failures within the disable window reached the limit; schedules paused until the time given",
  ),
  event("flow.enabled", "flow", [], "Disable window ended; schedules resumed"),
  event(
    "flow.fan_in",
    "flow",
    ["key", "value", "upstream", "run_id"],
    "Every upstream completed a run for the key value and the downstream run was created",
  ),
  event(
    "schedule.paused",
    "schedule",
    ["schedule_id", "reason"],
    "Paused from the UI, API, an MCP tool, a rule, or a disable window",
  ),
  event("schedule.resumed", "schedule", ["schedule_id"], "Resumed"),
  event(
    "schedule.catchup",
    "schedule",
    ["schedule_id", "policy", "missed", "created", "dropped"],
    "Server started and applied the catch-up policy to fires missed while down",
  ),
  event(
    "schedule.skips_dropped",
    "schedule",
    ["schedule_id", "dropped"],
    "An edit or restart left skipped fires the schedule no longer produces",
  ),
  event("resource.exhausted", "resource", ["resource"], "A run waited for a resource without capacity; once per wait"),
  event("rule.fired", "rule", ["rule_id", "rule", "event", "event_id"], "A rule matched an event and its actions started"),
  event("rule.action.completed", "rule", ["rule_id", "action", "index", "detail"], "One action finished"),
  event(
    "rule.action.failed",
    "rule",
    ["rule_id", "action", "index", "error"],
    "One action failed, including a template that did not render",
  ),
  event(
    "expectation.armed",
    "rule",
    ["id", "rule_id", "key", "run_id", "deadline"],
    "A proactive rule's event armed an expectation",
  ),
  event("expectation.met", "rule", ["id", "rule_id", "key"], "The expected event arrived before the deadline"),
  event(
    "expectation.lapsed",
    "rule",
    ["rule_id", "rule", "flow", "project", "run", "run_name", "expected", "deadline", "armed_at", "expectation_id"],
    "Deadline passed, or a clock-armed tick found no matching event; the rule's actions run against this event",
  ),
  event(
    "clock.stepped",
    "server",
    ["before", "after", "step_secs"],
    "The clock of the server's machine was set by more than an hour; retention waits until that is accepted, or for a day",
  ),
  event(
    "engine.blocked",
    "engine",
    ["engine", "module", "seconds", "runs"],
    "Code of one of these runs has held its engine for more than a second, so that the others wait; at most once a minute for each engine",
  ),
] as const satisfies readonly EventEntry[];

/** The name of an event of the catalogue. */
export type EventName = (typeof EVENTS)[number]["name"];

/** Prefixes whose names must be in the catalogue. */
export const RESERVED_PREFIXES = ["run.", "task_run.", "flow.", "schedule.", "resource.", "rule.", "expectation."] as const;

const NAMES: readonly string[] = EVENTS.map((entry) => entry.name);
const KNOWN_NAMES: ReadonlySet<string> = new Set(NAMES);

/** The types first, then the sub-states. */
export const STATES: readonly StateEntry[] = [
  ...STATE_TYPES.map((name) => ({ name, state_type: name, is_sub_state: false })),
  ...Object.entries(SUB_STATES).map(([name, state_type]) => ({ name, state_type, is_sub_state: true })),
];

/** The answer of GET /api/vocabulary. */
export const VOCABULARY: Vocabulary = {
  events: EVENTS.map((entry) => ({ ...entry, payload_fields: [...entry.payload_fields] })),
  reserved_prefixes: [...RESERVED_PREFIXES],
  states: [...STATES],
};

/** True for a name of the catalogue. */
export function isCatalogueEvent(name: string): name is EventName {
  return KNOWN_NAMES.has(name);
}

const TOO_LONG = `event name: expected at most ${NAME_LENGTH_MAX} characters`;

/** Such a name appears in no refusal: it may have megabytes. */
function isTooLong(name: string): boolean {
  return exceedsCharacters(name, NAME_LENGTH_MAX);
}

/**
 * Checks the name of an event that a client or user code records; returns null or the error. Names of the catalogue are refused
 * too: rules act on them, so only the server may record them.
 */
export function checkEmittedName(name: string): string | null {
  const wrong = checkReportedName(name);
  if (wrong === null || isTooLong(name)) return wrong;
  return checkReserved(name.trim(), false) ?? wrong;
}

/**
 * Like checkEmittedName, without the suggested name: a report may hold a hundred thousand names, and searching a suggestion
 * takes time.
 */
export function checkReportedName(name: string): string | null {
  const trimmed = name.trim();
  if (trimmed === "") return "event name is required";
  if (isTooLong(name)) return TOO_LONG;
  const prefix = reservedPrefix(trimmed);
  if (prefix === undefined && KNOWN_NAMES.has(trimmed)) return `event name "${trimmed}": only the server records it`;
  return prefix === undefined ? null : `event name "${trimmed}": only the server records events under "${prefix}"`;
}

/** Checks a name of a rule's match, which may also be a prefix ending in `*`; returns null or the error. */
export function checkMatchedName(name: string): string | null {
  const trimmed = name.trim();
  if (trimmed === "") return "event name is required";
  return isTooLong(name) ? TOO_LONG : checkReserved(trimmed, true);
}

/** Last words of names in other systems, and the word used here. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  aborted: "cancelled",
  created: "scheduled",
  done: "completed",
  ended: "completed",
  errored: "failed",
  finished: "completed",
  queued: "scheduled",
  retried: "retrying",
  started: "running",
  stopped: "cancelled",
  succeeded: "completed",
  success: "completed",
};

/** The catalogue name with the same meaning. */
function meantName(name: string): string | null {
  const dot = name.lastIndexOf(".") + 1;
  const word = name.slice(dot).toLowerCase();
  const meant = Object.hasOwn(OTHER_WORDS, word) ? `${name.slice(0, dot)}${OTHER_WORDS[word]}` : null;
  return meant !== null && KNOWN_NAMES.has(meant) ? meant : null;
}

function reservedPrefix(name: string): string | undefined {
  return RESERVED_PREFIXES.find((each) => name.startsWith(each) || name === each.slice(0, -1));
}

function checkReserved(name: string, wildcard: boolean): string | null {
  const prefix = reservedPrefix(name);
  if (prefix === undefined || KNOWN_NAMES.has(name)) return null;
  if (wildcard && name.endsWith("*") && NAMES.some((known) => known.startsWith(name.slice(0, -1)))) return null;
  const refused = `event name "${name}": nothing emits it, and names under "${prefix}" are reserved`;
  const nearest = meantName(name) ?? nearestName(name, NAMES);
  if (nearest !== null) return `${refused}; did you mean "${nearest}"?`;
  const under = NAMES.filter((known) => known.startsWith(prefix));
  return `${refused}; known: ${[...under, ...(wildcard ? [`${prefix}*`] : [])].join(", ")}`;
}

/**
 * The catalogue of events and the list of stream messages of the interface, written independently of the product, which is
 * compared with this table.
 */

export interface EventShape {
  /** Kind of the resource. */
  resource: string;
  /** Kinds of the related resources, in order, without repetitions. */
  related: readonly string[];
  /** Keys of the payload, sorted. */
  payload: readonly string[];
}

const RUN = ["created_by", "flow", "message", "parameters", "project", "state", "state_type"];
const TASK = ["dynamic_key", "flow", "message", "project", "state", "task"];

/** Events of runs that have a tag. */
const run = (...more: string[]): EventShape => ({
  resource: "run",
  related: ["flow", "tag"],
  payload: [...RUN, ...more].sort(),
});
const task: EventShape = { resource: "task_run", related: ["run", "flow"], payload: TASK };
const schedule = (...more: string[]): EventShape => ({
  resource: "schedule",
  related: ["flow"],
  payload: ["schedule_id", ...more].sort(),
});
const flow = (related: string[], ...payload: string[]): EventShape => ({ resource: "flow", related, payload: payload.sort() });
/** Events of rules that a run fired. */
const rule = (...payload: string[]): EventShape => ({ resource: "rule", related: ["run", "flow"], payload: payload.sort() });

/** An addition to the interface. Requires a step of the clock, so it occurs in test/hardening/clock-steps.test.ts. */
export const CLOCK_STEP = "clock.stepped";

export const EVENT_TABLE: Readonly<Record<string, EventShape>> = {
  "run.scheduled": run(),
  "run.pending": run(),
  "run.running": run(),
  "run.completed": run(),
  "run.failed": run(),
  "run.crashed": run(),
  "run.cancelled": run(),
  "run.late": run("scheduled_time", "name"),
  "run.retrying": run(),
  "run.skipped": run("reason"),
  "run.paused": run(),
  "run.resumed": run(),
  "task_run.running": task,
  "task_run.completed": task,
  "task_run.failed": task,
  "task_run.cancelled": task,
  "task_run.skipped": task,
  "task_run.cached": task,
  "flow.registered": flow([], "flow", "project", "module"),
  "flow.disabled": flow(["run"], "failures", "window_seconds", "until"),
  "flow.enabled": flow([]),
  "flow.fan_in": flow(["run"], "key", "value", "upstream", "run_id"),
  "schedule.paused": schedule("reason"),
  "schedule.resumed": schedule(),
  "schedule.catchup": schedule("policy", "missed", "created", "dropped"),
  "schedule.skips_dropped": schedule("dropped"),
  "resource.exhausted": { resource: "resource", related: ["run", "flow"], payload: ["resource"] },
  "rule.fired": rule("rule_id", "rule", "event", "event_id"),
  "rule.action.completed": rule("rule_id", "action", "index", "detail"),
  "rule.action.failed": rule("rule_id", "action", "index", "error"),
  "expectation.armed": rule("id", "rule_id", "key", "run_id", "deadline"),
  "expectation.met": rule("id", "rule_id", "key"),
  "expectation.lapsed": rule(
    ...["rule_id", "rule", "flow", "project", "run", "run_name"],
    ...["expected", "deadline", "armed_at", "expectation_id"],
  ),
  [CLOCK_STEP]: { resource: "server", related: [], payload: ["after", "before", "step_secs"] },
  "engine.blocked": { resource: "engine", related: ["run", "flow"], payload: ["engine", "module", "runs", "seconds"] },
};

/** Keys of an event's record. */
const EVENT_KEYS = [...["id", "external_id", "seq", "name", "occurred", "resource", "related", "payload", "run_id", "flow_id"]];

const GONE = ["id", "deleted"];
const RUN_KEYS = [
  ...[
    "id",
    "external_id",
    "name",
    "project",
    "flow_id",
    "flow_name",
    "group",
    "state",
    "parameters",
    "tags",
    "attempt",
    "priority",
  ],
  ...["created_by", "created_at", "start_time", "end_time", "total_run_time", "scheduled_time", "schedule_id", "backfill_id"],
  ...["parent_run_id", "engine_id", "engine_pid", "crash_count", "failure_count", "report_seq", "task_counts"],
];
const TASK_RUN_KEYS = [
  ...["id", "external_id", "run_id", "name", "task_key", "dynamic_key", "state", "crash_count", "failure_count", "created_at"],
  ...["start_time", "end_time", "total_run_time", "parents", "flow_id", "flow_name", "project", "run_name"],
];
const FLOW_KEYS = [
  ...["id", "external_id", "project", "name", "module", "source_dir", "description", "group", "tags", "parameter_schema"],
  ...["options", "live", "error", "schedule_error", "created_at", "last_seen_at"],
];
const RULE_KEYS = [
  ...["id", "external_id", "name", "enabled", "source", "module", "when", "do", "once", "cooldown_seconds", "max_per_minute"],
  ...["allow_self", "fire_count", "last_fired", "created_at", "updated_at"],
];
const SCHEDULE_KEYS = [
  ...["id", "external_id", "flow_id", "schedule", "catchup", "catchup_max", "active", "paused_reason", "paused_until", "source"],
  ...["code_key", "persist", "created_at", "updated_at", "next_fire", "skipped"],
];

/** By stream message: the sorted keys of its data, for each of its forms. */
export const MESSAGE_TABLE: Readonly<Record<string, readonly (readonly string[])[]>> = {
  hello: [["latest", "since"]],
  "run.updated": [RUN_KEYS, [...RUN_KEYS, "fire_time"], GONE],
  "task_run.updated": [TASK_RUN_KEYS],
  "log.appended": [["run_id", "last_id", "count"]],
  "event.created": [EVENT_KEYS],
  "flow.registered": [FLOW_KEYS],
  "rule.updated": [RULE_KEYS, [...RULE_KEYS, "unless", "within"], GONE],
  "variable.updated": [
    ["name", "value", "secret", "tags", "created_at", "updated_at"],
    ["name", "deleted"],
  ],
  "artifact.updated": [["id", "external_id", "run_id", "task_run_id", "kind", "key", "data", "created_at", "updated_at"]],
  "schedule.updated": [SCHEDULE_KEYS, GONE],
  "backfill.created": [["backfill_id", "flow_id", "count"]],
  "backfill.updated": [["backfill_id", "cancelled"]],
  "expectation.armed": [["id", "rule_id", "key", "run_id", "deadline"]],
  "expectation.met": [["id", "rule_id", "key"]],
  "expectation.lapsed": [["id", "rule_id", "event_id"]],
  resync: [["latest"]],
};

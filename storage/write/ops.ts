/**
 * Row operations: the closed set of changes a batch can make to the store.
 *
 * A batch is one flat array of primitives: operation code, then its values in the order of the columns listed here,
 * then the next code. Flat arrays of primitives cross threads four times cheaper than records do.
 * Every operation names its rows by primary key and cannot fail on its own; the writer merges later updates of a row
 * into earlier ones of the same batch. JSON columns are passed as text.
 */

import type { StateType } from "#protocol/records/state";
import type { Primitive } from "#protocol/wire/feed";

/** Columns of a run that change while it lives, in the order of `update_run`. */
export const RUN_STATE = [
  "state_type",
  "state_name",
  "state_timestamp",
  "state_message",
  "state_details",
  /** When the server received the state; null when within a second of `state_timestamp`, as for engines with a right clock. */
  "state_received",
  "start_time",
  "end_time",
  "total_run_time",
  "engine_id",
  "engine_pid",
  /** The assignment that holds the run; negative after its end, null before the first assignment. */
  "assignment_id",
  "report_seq",
  /** Last report numbers of former assignments and of engines that do not hold the run, as JSON; null without any. */
  "other_sequences",
  "crash_count",
  "failure_count",
  "attempt",
  /** Task runs by state type, as JSON; null without any. Counting the rows would take a microsecond for each. */
  "task_counts",
] as const;

export const OPERATIONS = {
  insert_flow: [
    "id",
    "external_id",
    "project",
    "name",
    "module",
    "source_dir",
    "description",
    "flow_group",
    "tags",
    "parameter_schema",
    "options",
    "error",
    "schedule_error",
    "created_at",
    "last_seen_at",
  ],
  update_flow: [
    "id",
    "module",
    "source_dir",
    "description",
    "flow_group",
    "tags",
    "parameter_schema",
    "options",
    "error",
    "schedule_error",
    "last_seen_at",
  ],
  delete_flow: ["id"],
  insert_run: [
    "id",
    "external_id",
    "flow_id",
    "name",
    "parameters",
    "tags",
    "priority",
    "reruns",
    "created_by",
    "created_at",
    "scheduled_time",
    "schedule_id",
    "backfill_id",
    "parent_run_id",
    ...RUN_STATE,
  ],
  /**
   * The runs of a backfill, Scheduled, with consecutive ids. `external_ids` are 16 bytes each; `values` are ASCII texts of
   * equal length, joined. A run's name is `name_head` and its value without colons, its parameters `parameters_head`, value
   * and `parameters_tail`.
   */
  insert_backfill_runs: [
    "first_id",
    "count",
    "external_ids",
    "flow_id",
    "tags",
    "priority",
    "created_by",
    "created_at",
    "backfill_id",
    "name_head",
    "parameters_head",
    "parameters_tail",
    "values",
  ],
  update_run: ["id", ...RUN_STATE],
  /**
   * Deletes the run with its task runs, log lines, artifacts, leases and answers; its events stay, with the borrowed fields
   * written into them.
   */
  delete_run: ["id"],
  put_task_run: [
    "id",
    "external_id",
    "run_id",
    "name",
    "task_key",
    "dynamic_key",
    "parents",
    "state_type",
    "state_name",
    "state_timestamp",
    "state_message",
    "state_details",
    "start_time",
    "end_time",
    "total_run_time",
    "crash_count",
    "failure_count",
    "created_at",
  ],
  /**
   * The writer assigns the id in commit order. `resource` and `related` are null for events of runs and task runs, whose
   * resource, related and common payload are derived when read; `payload` then has only the extra keys (null: none). The
   * common payload is derived only when `state_type` is set. A custom event of a run has no `state_type`: its payload is
   * stored whole, its resource is the run and its related are the flow, the run's tags and, with `task_run_id`, the task run
   * (name ""). With `resource` set, the event is stored as given. Custom events and events with `resource` have the state of
   * their run, if any, in `state_name` (runStateText), for rules to match on.
   */
  insert_event: [
    "name",
    "occurred",
    "run_id",
    "flow_id",
    "task_run_id",
    "state_type",
    "state_name",
    "state_message",
    "resource",
    "related",
    "payload",
  ],
  /**
   * One event, like an insert_event with these columns, for each of `count` runs with consecutive ids; `rule_depth` as in
   * put_event_chain.
   */
  insert_run_events: ["name", "occurred", "first_run_id", "count", "flow_id", "state_type", "rule_depth"],
  put_artifact: ["id", "external_id", "run_id", "task_run_id", "key", "kind", "data", "created_at", "updated_at"],
  /** A lease on resources; kind is "run" (taken at hand-out) or "explicit" (acquired by user code). */
  insert_lease: ["id", "run_id", "kind", "resources", "created_at"],
  delete_lease: ["id"],
  /** Answers to pauses are an ordered list per run. */
  insert_answer: ["run_id", "ordinal", "value", "created_at"],
  delete_answers: ["run_id"],
  /** `value` is JSON text; for a secret, the sealed form of it. */
  put_variable: ["name", "value", "secret", "tags", "created_at", "updated_at"],
  delete_variable: ["name"],
  /** `spec` is the JSON text of protocol/records/rule-spec.ts. The rule processes only events after `since_event`. */
  put_rule: [
    "id",
    "external_id",
    "name",
    "enabled",
    "source",
    "module",
    "spec",
    "fire_count",
    "last_fired",
    "since_event",
    "since_time",
    "created_at",
    "updated_at",
  ],
  fire_rule: ["id", "fire_count", "last_fired"],
  delete_rule: ["id"],
  put_guards: ["rule_id", "state"],
  delete_guards: ["rule_id"],
  /** Records that a rule has fired for a run. */
  put_fired: ["run_id", "rule_id"],
  /** `pending` holds the actions still to do, as JSON; null when all outcomes are stored. */
  put_firing: ["id", "rule_id", "event_id", "run_id", "timestamp", "outcomes", "pending"],
  put_expectation: ["id", "rule_id", "key", "status", "armed_at", "deadline", "flow_id", "run_id"],
  /** An outbound message, stored before it is sent. */
  put_outbound: ["id", "firing_id", "rule_id", "action", "kind", "request", "created_at"],
  delete_outbound: ["id"],
  put_cursor: ["name", "event_id"],
  /** An event or timer that crashed an actor repeatedly and was skipped. */
  insert_quarantine: ["actor", "subject", "error", "created_at"],
  /** Deletes a slice of old events and log lines: from before a time, up to an event, at most this many stretches of ids. */
  trim_history: ["before", "last_event", "stretches"],
  /** Length of the chain of rules that created or moved a run. */
  put_chain: ["run_id", "depth"],
  /** The chain length of the event inserted last, when a rule or its message led to that event. */
  put_event_chain: ["depth"],
  /** An engine that holds or may hold a run, stored so that it is recognised after a restart. */
  put_engine: ["id", "pid", "pid_started", "host", "project_key", "last_contact"],
  delete_engine: ["id"],
  /** A crash rerun that is not yet due. */
  put_rerun: ["run_id", "due"],
  delete_rerun: ["run_id"],
  /**
   * The newest run of a flow for a key value of a downstream flow; the downstream's own run is stored under the downstream's
   * id.
   */
  put_fan_in: ["downstream_id", "value", "flow_id", "run_id", "completed"],
  delete_fan_in: ["downstream_id", "value", "flow_id"],
  /** The first answer to a request with an Idempotency-Key. `body` null: the answer is the event inserted last. */
  put_idempotency: ["key", "created_at", "fingerprint", "status", "body"],
  /** Deletes keys from before a time. */
  delete_idempotency: ["created_at"],
  put_schedule: [
    "id",
    "external_id",
    "flow_id",
    "schedule",
    "catchup",
    "catchup_max",
    "active",
    "paused_reason",
    "paused_until",
    "source",
    "code_key",
    "persist",
    "created_at",
    "updated_at",
    "next_fire",
    /** Every fire up to this time is decided: run, skipped or dropped. Runs of later fires may exist already. */
    "consumed_until",
  ],
  delete_schedule: ["id"],
  put_skip: ["schedule_id", "fire", "skipped_by", "skipped_at"],
  delete_skip: ["schedule_id", "fire"],
  /** Deletes all skips of a schedule. */
  delete_skips: ["schedule_id"],
  put_backfill: [
    "id",
    "external_id",
    "flow_id",
    "parameter",
    "start_value",
    "end_value",
    "interval_secs",
    "concurrency",
    "total",
    "cancelled",
    /** 0 while the backfill's runs wait for the flow's bulk-completion check. */
    "prefiltered",
    "created_at",
    "extra_parameters",
    /** During a cancel: the highest run id that the cancel has reached. */
    "cancelled_through",
  ],
  /** The only row about the clocks. */
  put_clock: ["id", "boot", "boot_time", "wall_time", "ahead", "trusted_ahead", "step", "stepped_at", "waited"],
  /** Gives an existing run another creator (for a fire that catch-up keeps). */
  set_run_creator: ["id", "created_by"],
  /** Adds `delta` to the number of runs of a flow in a state type. */
  count_runs: ["flow_id", "state_type", "delta"],
  count_task_runs: ["flow_id", "state_type", "delta"],
  /** Counts a run (empty task name) or a task run as ended; `duration` is null if it never started. */
  count_ended: ["ended_at", "flow_id", "task_name", "state_type", "duration", "delta", "state_name"],
} as const satisfies Record<string, readonly string[]>;

export type OperationName = keyof typeof OPERATIONS;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as OperationName[];

const CODE = Object.fromEntries(OPERATION_NAMES.map((name, index) => [name, index])) as Record<OperationName, number>;

/** A tuple with one primitive for each column. */
type ValuesOf<Columns extends readonly string[]> = { -readonly [K in keyof Columns]: Primitive };

export type OperationValues<N extends OperationName> = ValuesOf<(typeof OPERATIONS)[N]>;

/** The values of the columns of RUN_STATE. */
export type RunStateValues = ValuesOf<typeof RUN_STATE>;

/** Appends one operation to a batch. */
export function putOperation<N extends OperationName>(ops: Primitive[], name: N, ...values: OperationValues<N>): void {
  ops.push(CODE[name], ...values);
}

const STATE_SEPARATOR = "/";

/** The state of an event's run as one text: the type, and after a slash the name if it differs from the type. */
export function runStateText({ type, name }: { type: StateType; name: string }): string {
  return name === type ? type : `${type}${STATE_SEPARATOR}${name}`;
}

/** Type and name of a `runStateText`; only the type if the name equals it. */
export function readRunState(text: string): string[] {
  const at = text.indexOf(STATE_SEPARATOR);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

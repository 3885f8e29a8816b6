/**
 * Row operations: the closed set of changes a batch can make to the store.
 *
 * A batch is one flat array of primitives: operation code, then its values in the order of the columns listed here,
 * then the next code. Flat arrays of primitives cross threads four times cheaper than records do. `putOperation` writes them
 * and row-values.ts reads them, by the name of the column.
 * Every operation names its rows by primary key and cannot fail on its own; the writer merges later updates of a row
 * into earlier ones of the same batch. JSON columns are passed as text.
 */

import type { CatchupPolicy } from "#protocol/records/schedule";
import type { StateType } from "#protocol/records/state";
import type { Primitive } from "#protocol/wire/feed";
import {
  bit,
  bytes,
  type Columns,
  integer,
  json,
  jsonList,
  jsonObject,
  type LoadedOf,
  nullable,
  oneOf,
  real,
  stateNameText,
  stateTypeText,
  text,
  uuid,
  type ValuesOf,
} from "./columns.ts";
import { DURABLE_OPERATIONS } from "./durable-ops.ts";

/** Columns of a run that change while it lives. */
export const RUN_STATE = {
  state_type: stateTypeText,
  state_name: stateNameText,
  state_timestamp: integer,
  state_message: nullable(text),
  state_details: jsonObject,
  /** When the server received the state; null when within a second of `state_timestamp`, as for engines with a right clock. */
  state_received: nullable(integer),
  start_time: nullable(integer),
  end_time: nullable(integer),
  total_run_time: nullable(integer),
  engine_id: nullable(text),
  engine_pid: nullable(integer),
  /** The newest assignment, also after its end, because its engine may still report; null before the first. */
  assignment_id: nullable(integer),
  /** Whether the newest assignment holds the run. */
  assigned: bit,
  report_seq: integer,
  /** Last report numbers of former assignments and of engines that do not hold the run; null without any. */
  other_sequences: nullable(json),
  crash_count: integer,
  failure_count: integer,
  attempt: integer,
  /** Whether a crash of the run, or of those that it repeats, was not counted. */
  uncounted: bit,
  /** Task runs by state type; null without any. Counting the rows would take a microsecond for each. */
  task_counts: jsonObject,
  /** Marks of the run's course since its row was written last (schema/run-marks.ts): the writer appends them. */
  marks: nullable(text),
} as const satisfies Columns;

export const OPERATIONS = {
  insert_flow: {
    id: integer,
    external_id: uuid,
    project: text,
    name: text,
    module: text,
    source_dir: text,
    description: nullable(text),
    flow_group: nullable(text),
    tags: jsonList,
    parameter_schema: jsonObject,
    options: jsonObject,
    error: nullable(text),
    schedule_error: nullable(text),
    created_at: integer,
    last_seen_at: integer,
  },
  update_flow: {
    id: integer,
    module: text,
    source_dir: text,
    description: nullable(text),
    flow_group: nullable(text),
    tags: jsonList,
    parameter_schema: jsonObject,
    options: jsonObject,
    error: nullable(text),
    schedule_error: nullable(text),
    last_seen_at: integer,
  },
  delete_flow: { id: integer },
  insert_run: {
    id: integer,
    external_id: uuid,
    flow_id: integer,
    name: text,
    parameters: jsonObject,
    tags: jsonList,
    priority: integer,
    reruns: integer,
    created_by: text,
    created_at: integer,
    scheduled_time: nullable(integer),
    schedule_id: nullable(integer),
    backfill_id: nullable(integer),
    parent_run_id: nullable(integer),
    /** Of a crash rerun or retry of a fire's run; null for that run itself, which has it as its scheduled time. */
    fire_time: nullable(integer),
    /** Whether the run shares its engine with no other run. */
    alone: bit,
    ...RUN_STATE,
  },
  /** Only for a run that was created with one; the run is new in this commit, and its insert may follow. */
  set_traceparent: { id: integer, traceparent: text },
  /**
   * The runs of a backfill, Scheduled, with consecutive ids. `external_ids` are 16 bytes each; `values` are ASCII texts of
   * equal length, joined. A run's name is `name_head` and its value without colons, its parameters `parameters_head`, value
   * and `parameters_tail`.
   */
  insert_backfill_runs: {
    first_id: integer,
    count: integer,
    external_ids: bytes,
    flow_id: integer,
    tags: json,
    priority: integer,
    created_by: text,
    created_at: integer,
    backfill_id: integer,
    name_head: text,
    parameters_head: text,
    parameters_tail: text,
    values: text,
  },
  /**
   * New runs with consecutive ids, Scheduled, and the event of each one's creation; `rule_depth` as in put_event_chain.
   * `external_ids` are 16 bytes each; `rows` is the JSON text of a NewRunRow for each run.
   */
  insert_new_runs: {
    first_id: integer,
    count: integer,
    external_ids: bytes,
    created_at: integer,
    rows: json,
    rule_depth: integer,
  },
  update_run: { id: integer, ...RUN_STATE },
  /**
   * Deletes the run with its task runs, log lines, artifacts, leases and answers; its events stay, with the borrowed fields
   * written into them.
   */
  delete_run: { id: integer },
  put_task_run: {
    id: integer,
    external_id: uuid,
    run_id: integer,
    name: text,
    task_key: text,
    dynamic_key: text,
    parents: jsonList,
    state_type: stateTypeText,
    state_name: stateNameText,
    state_timestamp: integer,
    state_message: nullable(text),
    state_details: jsonObject,
    start_time: nullable(integer),
    end_time: nullable(integer),
    total_run_time: nullable(integer),
    crash_count: integer,
    failure_count: integer,
    created_at: integer,
  },
  /**
   * The writer assigns the id in commit order. `resource` and `related` are null for events of runs and task runs, whose
   * resource, related and common payload are derived when read; `payload` then has only the extra keys (null: none). The
   * common payload is derived only when `state_type` is set. A custom event of a run has no `state_type`: its payload is
   * stored whole, its resource is the run and its related are the flow, the run's tags and, with `task_run_id`, the task run
   * (name ""). With `resource` set, the event is stored as given. Custom events and events with `resource` have the state of
   * their run, if any, in `state_name` (runStateText), for rules to match on.
   */
  insert_event: {
    name: text,
    occurred: integer,
    run_id: nullable(integer),
    flow_id: nullable(integer),
    task_run_id: nullable(integer),
    state_type: nullable(stateTypeText),
    state_name: nullable(stateNameText),
    state_message: nullable(text),
    resource: nullable(json),
    related: jsonList,
    payload: nullable(json),
  },
  /**
   * One event, like an insert_event with these columns, for each of `count` runs with consecutive ids; `rule_depth` as in
   * put_event_chain.
   */
  insert_run_events: {
    name: text,
    occurred: integer,
    first_run_id: integer,
    count: integer,
    flow_id: integer,
    state_type: stateTypeText,
    rule_depth: integer,
  },
  put_artifact: {
    id: integer,
    external_id: uuid,
    run_id: integer,
    task_run_id: nullable(integer),
    key: nullable(text),
    kind: text,
    data: json,
    created_at: integer,
    updated_at: integer,
  },
  /** A lease on resources, taken at hand-out ("run") or acquired by user code ("explicit"). */
  insert_lease: { id: integer, run_id: integer, kind: oneOf<"run" | "explicit">(), resources: json, created_at: integer },
  delete_lease: { id: integer },
  /** Answers to pauses are an ordered list per run. */
  insert_answer: { run_id: integer, ordinal: integer, value: json, created_at: integer },
  delete_answers: { run_id: integer },
  /** `value` is JSON text; for a secret, the sealed form of it. */
  put_variable: { name: text, value: text, secret: bit, tags: jsonList, created_at: integer, updated_at: integer },
  delete_variable: { name: text },
  /** A setting that was changed at run time (actors/core/state/changed-settings.ts). */
  put_setting: { name: text, value: text },
  /** `spec` is the JSON text of protocol/records/rule-spec.ts. The rule processes only events after `since_event`. */
  put_rule: {
    id: integer,
    external_id: uuid,
    name: text,
    enabled: bit,
    source: oneOf<"ui" | "code">(),
    module: nullable(text),
    spec: json,
    fire_count: integer,
    last_fired: nullable(integer),
    since_event: integer,
    since_time: integer,
    created_at: integer,
    updated_at: integer,
  },
  fire_rule: { id: integer, fire_count: integer, last_fired: nullable(integer) },
  delete_rule: { id: integer },
  put_guards: { rule_id: integer, state: json },
  delete_guards: { rule_id: integer },
  /** Records that a rule has fired for a run. */
  put_fired: { run_id: integer, rule_id: integer },
  /** `pending` holds the actions still to do; null when all outcomes are stored. */
  put_firing: {
    id: integer,
    rule_id: integer,
    event_id: nullable(integer),
    run_id: nullable(integer),
    timestamp: integer,
    outcomes: json,
    pending: nullable(json),
  },
  put_expectation: {
    id: integer,
    rule_id: integer,
    key: text,
    status: oneOf<"open" | "met" | "lapsed" | "cancelled">(),
    armed_at: integer,
    deadline: integer,
    flow_id: nullable(integer),
    run_id: nullable(integer),
  },
  /** An outbound message, stored before it is sent. */
  put_outbound: {
    id: integer,
    firing_id: nullable(integer),
    rule_id: nullable(integer),
    action: nullable(integer),
    kind: text,
    request: json,
    created_at: integer,
  },
  delete_outbound: { id: integer },
  put_cursor: { name: text, event_id: integer },
  /** An event or timer that crashed an actor repeatedly and was skipped. */
  insert_quarantine: { actor: text, subject: text, error: text, created_at: integer },
  /** Deletes a slice of old events and log lines: from before a time, up to an event, at most this many stretches of ids. */
  trim_history: { before: integer, last_event: integer, stretches: integer },
  /** Length of the chain of rules that created or moved a run. */
  put_chain: { run_id: integer, depth: integer },
  /** The chain length of the event inserted last, when a rule or its message led to that event. */
  put_event_chain: { depth: integer },
  /** An engine that holds or may hold a run, stored so that it is recognised after a restart. */
  put_engine: {
    id: text,
    pid: integer,
    pid_started: nullable(integer),
    host: nullable(text),
    project_key: nullable(json),
    last_contact: integer,
  },
  delete_engine: { id: text },
  /** A crash rerun that is not yet due. */
  put_rerun: { run_id: integer, due: integer },
  delete_rerun: { run_id: integer },
  /**
   * The newest run of a flow for a key value of a downstream flow; the downstream's own run is stored under the downstream's
   * id.
   */
  put_fan_in: { downstream_id: integer, value: text, flow_id: integer, run_id: integer, completed: bit },
  delete_fan_in: { downstream_id: integer, value: text, flow_id: integer },
  /** The first answer to a request with an Idempotency-Key. `body` null: the answer is the event inserted last. */
  put_idempotency: { key: text, created_at: integer, fingerprint: text, status: integer, body: nullable(text) },
  /** Deletes keys from before a time. */
  delete_idempotency: { created_at: integer },
  put_schedule: {
    id: integer,
    external_id: uuid,
    flow_id: integer,
    schedule: json,
    catchup: oneOf<CatchupPolicy>(),
    catchup_max: integer,
    active: bit,
    paused_reason: nullable(text),
    paused_until: nullable(integer),
    source: text,
    code_key: nullable(text),
    persist: bit,
    created_at: integer,
    updated_at: integer,
    next_fire: nullable(integer),
    /** Every fire up to this time is decided: run, skipped or dropped. Runs of later fires may exist already. */
    consumed_until: integer,
    /** As they were sent; null without any. */
    parameters: nullable(json),
  },
  delete_schedule: { id: integer },
  put_skip: { schedule_id: integer, fire: integer, skipped_by: text, skipped_at: integer },
  delete_skip: { schedule_id: integer, fire: integer },
  /** Deletes all skips of a schedule. */
  delete_skips: { schedule_id: integer },
  put_backfill: {
    id: integer,
    external_id: uuid,
    flow_id: integer,
    parameter: text,
    start_value: text,
    end_value: text,
    interval_secs: real,
    concurrency: integer,
    total: integer,
    cancelled: bit,
    /** 0 while the backfill's runs wait for the flow's bulk-completion check. */
    prefiltered: bit,
    created_at: integer,
    extra_parameters: jsonObject,
    /** During a cancel: the highest run id that the cancel has reached. */
    cancelled_through: nullable(integer),
  },
  /** The only row about the clocks. */
  put_clock: {
    id: integer,
    boot: text,
    boot_time: integer,
    wall_time: integer,
    ahead: integer,
    trusted_ahead: integer,
    step: nullable(integer),
    stepped_at: nullable(integer),
    waited: integer,
  },
  /** Gives an existing run another creator (for a fire that catch-up keeps). */
  set_run_creator: { id: integer, created_by: text },
  ...DURABLE_OPERATIONS,
  /** Adds `delta` to the number of runs of a flow in a state type. */
  count_runs: { flow_id: integer, state_type: stateTypeText, delta: integer },
  count_task_runs: { flow_id: integer, state_type: stateTypeText, delta: integer },
  /** Counts a run (empty task name) or a task run as ended; `duration` is null if it never started. */
  count_ended: {
    ended_at: integer,
    flow_id: integer,
    task_name: text,
    state_type: stateTypeText,
    duration: nullable(integer),
    delta: integer,
    state_name: text,
  },
} as const satisfies Record<string, Columns>;

export type OperationName = keyof typeof OPERATIONS;

/** The columns in which the runs of an insert_new_runs differ; tags and parameters are JSON text, null for none. */
export type NewRunRow = readonly [
  flowId: number,
  priority: number,
  name: string,
  createdBy: string,
  tags: string | null,
  parameters: string | null,
];

/** The values of an operation by column. */
export type RowOf<N extends OperationName> = ValuesOf<(typeof OPERATIONS)[N]>;

/** A stored row with the columns of an operation. */
export type StoredRow<N extends OperationName> = LoadedOf<(typeof OPERATIONS)[N]>;

/** The values of the columns of RUN_STATE. */
export type RunStateRow = ValuesOf<typeof RUN_STATE>;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as OperationName[];

type ColumnNames = { readonly [N in OperationName]: readonly (keyof RowOf<N> & string)[] };

/** The columns of each operation, in the order of its values. */
export const COLUMNS = Object.fromEntries(
  OPERATION_NAMES.map((name) => [name, Object.keys(OPERATIONS[name])]),
) as Partial<ColumnNames> as ColumnNames;

type Row = Readonly<Record<string, Primitive>>;

/** Code and columns of an operation by its name. */
const FORM = Object.fromEntries(OPERATION_NAMES.map((name, code) => [name, { code, columns: COLUMNS[name] }])) as Readonly<
  Record<OperationName, { code: number; columns: readonly string[] }>
>;

/** Appends one operation to a batch. */
export function putOperation<N extends OperationName>(ops: Primitive[], name: N, row: RowOf<N>): void {
  const { code, columns } = FORM[name];
  const start = ops.push(code);
  if (putInOrder(ops, columns, 0, row as Row) !== columns.length) putByName(ops, start, columns, row as Row);
}

/** The same for a row in two parts: joining two objects costs several times more than writing their values. */
export function putOperationInParts<N extends OperationName, C extends keyof RowOf<N>>(
  ops: Primitive[],
  name: N,
  row: Omit<RowOf<N>, C>,
  rest: Pick<RowOf<N>, C>,
): void {
  const { code, columns } = FORM[name];
  const start = ops.push(code);
  const done = putInOrder(ops, columns, 0, row as Row);
  if (putInOrder(ops, columns, done, rest as Row) !== columns.length) putByName(ops, start, columns, { ...row, ...rest } as Row);
}

/**
 * Appends the values of a row that names its columns in the order of the operation, as most do: V8 reads the values of such a
 * loop by their place in the object, at half the cost of reads by name. Returns how many columns have their value, -1 for
 * a row in another order.
 */
function putInOrder(ops: Primitive[], columns: readonly string[], done: number, row: Row): number {
  let index = done;
  for (const column in row) {
    if (column !== columns[index]) return -1;
    ops.push(row[column] as Primitive);
    index += 1;
  }
  return index;
}

/** Appends the values of a row in any order, in place of what follows `start`. */
function putByName(ops: Primitive[], start: number, columns: readonly string[], row: Row): void {
  ops.length = start;
  for (const column of columns) ops.push(row[column] as Primitive);
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

/** Operations that make many rows, as the values of operations that make one. */
import type { Primitive } from "#protocol/wire/feed";
import { CREATED_MARK } from "../schema/run-marks.ts";
import { COLUMNS, type NewRunRow, type RowOf } from "../write/ops.ts";
import { positionsOf } from "../write/row-values.ts";

const RUN = positionsOf("insert_run");
const EVENT = positionsOf("insert_event");
const UUID_BYTES = 16;

/** A run that has been created and nothing else; columns without a value are NULL. */
const CREATED: readonly Primitive[] = rowOf(COLUMNS.insert_run, {
  state_type: "Scheduled",
  state_name: "Scheduled",
  marks: CREATED_MARK,
  priority: 0,
  reruns: 0,
  alone: 0,
  assigned: 0,
  report_seq: 0,
  crash_count: 0,
  failure_count: 0,
  attempt: 0,
  uncounted: 0,
});
const NO_EVENT: readonly Primitive[] = COLUMNS.insert_event.map(() => null);

/** The values of an insert_event. */
export interface BulkEvent {
  values: Primitive[];
  /** The length of the chain of rules that led to the event; 0 for none. */
  depth: number;
}

/** The values of an insert_run for each run of a backfill. */
export function backfillRuns(made: RowOf<"insert_backfill_runs">): Primitive[][] {
  const length = made.values.length / made.count;
  return Array.from({ length: made.count }, (_none, index) => {
    const text = made.values.slice(index * length, (index + 1) * length);
    const values = createdRun(made, index);
    values[RUN.flow_id] = made.flow_id;
    values[RUN.backfill_id] = made.backfill_id;
    values[RUN.priority] = made.priority;
    values[RUN.created_by] = made.created_by;
    values[RUN.tags] = made.tags;
    values[RUN.name] = `${made.name_head}${text.replaceAll(":", "")}`;
    values[RUN.parameters] = `${made.parameters_head}${text}${made.parameters_tail}`;
    return values;
  });
}

/** The values of an insert_run for each new run, and of an insert_event for its creation. */
export function newRuns(made: RowOf<"insert_new_runs">): { runs: Primitive[][]; events: BulkEvent[] } {
  const runs: Primitive[][] = [];
  const events: BulkEvent[] = [];
  for (const [index, [flow, priority, name, createdBy, tags, parameters]] of (JSON.parse(made.rows) as NewRunRow[]).entries()) {
    const values = createdRun(made, index);
    values[RUN.flow_id] = flow;
    values[RUN.priority] = priority;
    values[RUN.name] = name;
    values[RUN.created_by] = createdBy;
    values[RUN.tags] = tags;
    values[RUN.parameters] = parameters;
    runs.push(values);
    events.push(runEvent("run.scheduled", made.created_at, made.first_id + index, flow, "Scheduled", made.rule_depth));
  }
  return { runs, events };
}

export function runEvents(made: RowOf<"insert_run_events">): BulkEvent[] {
  const { name, occurred, first_run_id, count, flow_id, state_type, rule_depth } = made;
  return Array.from({ length: count }, (_none, index) =>
    runEvent(name, occurred, first_run_id + index, flow_id, state_type, rule_depth),
  );
}

function createdRun(made: { first_id: number; external_ids: Uint8Array; created_at: number }, index: number): Primitive[] {
  const values = [...CREATED];
  values[RUN.id] = made.first_id + index;
  values[RUN.external_id] = made.external_ids.subarray(index * UUID_BYTES, (index + 1) * UUID_BYTES);
  values[RUN.state_timestamp] = made.created_at;
  values[RUN.created_at] = made.created_at;
  return values;
}

function runEvent(name: string, occurred: number, run: number, flow: number, state: string, depth: number): BulkEvent {
  const values = [...NO_EVENT];
  values[EVENT.name] = name;
  values[EVENT.occurred] = occurred;
  values[EVENT.run_id] = run;
  values[EVENT.flow_id] = flow;
  values[EVENT.state_type] = state;
  values[EVENT.state_name] = state;
  return { values, depth };
}

function rowOf(columns: readonly string[], row: Readonly<Record<string, Primitive>>): Primitive[] {
  return columns.map((column) => row[column] ?? null);
}

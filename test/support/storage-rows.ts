/** Rows for tests of the store: batches built with the core's own functions. */

import { isTerminal, type StateType } from "#protocol/records/state";
import { canonicalJson } from "#protocol/values/json";
import type { Primitive } from "#protocol/wire/feed";
import type { CommitRequest } from "#storage/port";
import { IN_MEMORY } from "#storage/read/read-handle";
import { buildLogBlocks } from "#storage/schema/log-blocks";
import type { Database } from "#storage/sqlite/driver";
import { Statements } from "#storage/sqlite/statements";
import { type Batch, emptyDecision } from "#storage/write/batch";
import { putOperation, type RowOf, type RunStateRow } from "#storage/write/ops";
import { openWriteHandle } from "#storage/write/write-handle";
import { Writer } from "#storage/write/writer";

export interface Store {
  database: Database;
  writer: Writer;
  statements: Statements;
}

export function openStore(path = IN_MEMORY, nowUs = () => 0): Store {
  const database = openWriteHandle(path, { durability: "normal", salt: 7 });
  return {
    database,
    writer: new Writer(database, { stream: "new_block", nowUs }),
    statements: new Statements(database),
  };
}

/** A request for one batch; `logs` become blocks with the writer's next ids. */
export function request(writer: Writer, number: number, parts: Partial<Batch>): CommitRequest {
  const place = { number, generation: 1, refusals: 0, epoch: null };
  const batch: Batch = { kind: "Batch", ...place, ...emptyDecision(), ...parts };
  return { batch, logs: buildLogBlocks(batch.logs, writer.nextLogId) };
}

/** A UUID that ends with the number, in one of a few families. */
export function uuid(family: number, id: number): string {
  return `0190000${family}-0000-7000-8000-${id.toString(16).padStart(12, "0")}`;
}

export interface RunSpec {
  id: number;
  flow: number;
  name: string;
  tags: string[];
  type: StateType;
  stateName: string;
  created: number;
  start: number | null;
  end: number | null;
  scheduled: number | null;
  schedule: number | null;
  backfill: number | null;
  message?: string | null;
  /** When the server received the state, if its timestamp differs. */
  received?: number | null;
  parameters?: Record<string, unknown>;
  /** Number of its task runs by state type. */
  taskCounts?: Partial<Record<StateType, number>>;
}

export function durationOf({ start, end }: RunSpec): number | null {
  return start === null || end === null ? null : end - start;
}

/** The state of a run that has not started, with other columns replaced. */
export function stateRow(type: StateType, other: Partial<RunStateRow> = {}): RunStateRow {
  return {
    state_type: type,
    state_name: type,
    state_timestamp: 1,
    state_message: null,
    state_details: "{}",
    state_received: null,
    start_time: null,
    end_time: null,
    total_run_time: null,
    engine_id: null,
    engine_pid: null,
    assignment_id: null,
    assigned: 0,
    report_seq: 0,
    other_sequences: null,
    crash_count: 0,
    uncounted: 0,
    failure_count: 0,
    attempt: 0,
    task_counts: "{}",
    marks: null,
    ...other,
  };
}

export function runState(run: RunSpec): RunStateRow {
  const end_time = isTerminal(run.type) ? run.end : null;
  return stateRow(run.type, {
    state_name: run.stateName,
    state_message: run.message ?? null,
    state_received: run.received ?? null,
    start_time: run.start,
    end_time,
    total_run_time: durationOf({ ...run, end: end_time }),
    task_counts: JSON.stringify(run.taskCounts ?? {}),
  });
}

/** A flow with empty options, with other columns replaced. */
export function flowRow(id: number, other: Partial<RowOf<"insert_flow">> = {}): RowOf<"insert_flow"> {
  return {
    id,
    external_id: uuid(1, id),
    project: "p",
    name: `f${id}`,
    module: "m",
    source_dir: "/d",
    description: null,
    flow_group: null,
    tags: "[]",
    parameter_schema: "{}",
    options: "{}",
    error: null,
    schedule_error: null,
    created_at: 1,
    last_seen_at: 2,
    ...other,
  };
}

/** A run without parameters and tags, with other columns replaced. */
export function runRow(id: number, state: RunStateRow, other: Partial<RowOf<"insert_run">> = {}): RowOf<"insert_run"> {
  return {
    id,
    external_id: uuid(2, id),
    flow_id: 1,
    name: `run-${id}`,
    parameters: "{}",
    tags: "[]",
    priority: 0,
    reruns: 0,
    created_by: "client",
    alone: 0,
    created_at: 1,
    scheduled_time: null,
    schedule_id: null,
    backfill_id: null,
    parent_run_id: null,
    fire_time: null,
    ...state,
    ...other,
  };
}

/** A task run that began at 4 and, if its state is an end, ended at 9; with other columns replaced. */
export function taskRow(
  id: number,
  run: number,
  type: StateType,
  other: Partial<RowOf<"put_task_run">> = {},
): RowOf<"put_task_run"> {
  const hasEnded = isTerminal(type);
  return {
    id,
    external_id: uuid(3, id),
    run_id: run,
    name: `task-${id % 3}`,
    task_key: "k",
    dynamic_key: `t-${id}`,
    parents: "[]",
    state_type: type,
    state_name: type,
    state_timestamp: 5,
    state_message: null,
    state_details: "{}",
    start_time: 4,
    end_time: hasEnded ? 9 : null,
    total_run_time: hasEnded ? 5 : null,
    crash_count: 0,
    failure_count: 0,
    created_at: 3,
    ...other,
  };
}

/** An event that belongs to nothing, with other columns replaced. */
export function eventRow(name: string, occurred: number, other: Partial<RowOf<"insert_event">> = {}): RowOf<"insert_event"> {
  return {
    name,
    occurred,
    run_id: null,
    flow_id: null,
    task_run_id: null,
    state_type: null,
    state_name: null,
    state_message: null,
    resource: null,
    related: null,
    payload: null,
    ...other,
  };
}

/** A backfill without end and runs, with other columns replaced. */
export function backfillRow(id: number, other: Partial<RowOf<"put_backfill">> = {}): RowOf<"put_backfill"> {
  return {
    id,
    external_id: uuid(5, id),
    flow_id: 1,
    parameter: "day",
    start_value: "a",
    end_value: "b",
    interval_secs: 86_400,
    concurrency: 1,
    total: 0,
    cancelled: 0,
    prefiltered: 1,
    created_at: 1,
    extra_parameters: "{}",
    cancelled_through: null,
    ...other,
  };
}

export function putFlow(ops: Primitive[], id: number, project: string, name: string, options = "{}"): void {
  putOperation(ops, "insert_flow", flowRow(id, { project, name, options }));
}

export function putRun(ops: Primitive[], run: RunSpec): void {
  const row = runRow(run.id, runState(run), {
    flow_id: run.flow,
    name: run.name,
    parameters: canonicalJson(run.parameters ?? {}),
    tags: JSON.stringify(run.tags),
    created_at: run.created,
    scheduled_time: run.scheduled,
    schedule_id: run.schedule,
    backfill_id: run.backfill,
  });
  putOperation(ops, "insert_run", row);
}

export function putTaskRun(ops: Primitive[], id: number, run: number, type: StateType, name: string): void {
  putOperation(ops, "put_task_run", taskRow(id, run, type, { state_name: name }));
}

export function putRunEvent(ops: Primitive[], name: string, run: number, flow: number, type: StateType, at: number): void {
  putOperation(ops, "insert_event", eventRow(name, at, { run_id: run, flow_id: flow, state_type: type, state_name: type }));
}

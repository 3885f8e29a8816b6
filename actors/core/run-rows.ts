/** The rows of runs and task runs, from their form in memory. */
import type { State } from "#protocol/records/state";
import type { Primitive } from "#protocol/wire/feed";
import { putOperation, putOperationInParts, type RunStateRow } from "#storage/write/ops";
import { NO_TAGS, type Run, type RunTexts, UNSTARTED } from "./state/run.ts";
import type { TaskRun } from "./state/task-run.ts";

/** Time that an engine may take to report a move; a larger difference means that its clock differs from the server's. */
const CLOCKS_APART_US = 1_000_000;

/** The row of a run that has none yet. */
export function putNewRun(ops: Primitive[], run: Run, texts: RunTexts): void {
  const { external_id, name, parameters, tags, traceparent } = texts;
  const identity = {
    id: run.id,
    external_id,
    flow_id: run.flow.id,
    name,
    parameters,
    tags: tags === NO_TAGS ? null : tags,
    priority: run.priority,
    reruns: run.reruns,
    created_by: run.created_by,
    created_at: run.created_at,
    scheduled_time: run.scheduled_time,
    schedule_id: run.schedule_id,
    backfill_id: run.backfill_id,
    parent_run_id: run.parent_run_id,
    fire_time: run.fire_time,
    alone: run.alone ? (1 as const) : (0 as const),
  };
  putOperationInParts(ops, "insert_run", identity, runState(run));
  if (traceparent !== undefined) putOperation(ops, "set_traceparent", { id: run.id, traceparent });
}

/** The columns of a run that change while it lives. */
export function putRun(ops: Primitive[], run: Run): void {
  putOperationInParts(ops, "update_run", { id: run.id }, runState(run));
}

export function putTask(ops: Primitive[], task: TaskRun): void {
  const { state } = task;
  putOperation(ops, "put_task_run", {
    id: task.id,
    external_id: task.external_id,
    run_id: task.run_id,
    name: task.name,
    task_key: task.task_key,
    dynamic_key: task.dynamic_key,
    parents: task.parents.length === 0 ? null : JSON.stringify(task.parents),
    state_type: state?.type ?? "Pending",
    state_name: state?.name ?? "Pending",
    state_timestamp: state?.timestamp ?? 0,
    state_message: state?.message ?? null,
    state_details: state === null ? null : detailsText(state),
    start_time: task.start_time,
    end_time: task.end_time,
    total_run_time: task.total_run_time,
    crash_count: task.crash_count,
    failure_count: task.failure_count,
    created_at: task.created_at,
  });
}

function runState(run: Run): RunStateRow {
  const { state } = run;
  return {
    state_type: state.type,
    state_name: state.name,
    state_timestamp: state.timestamp,
    state_message: state.message,
    state_details: detailsText(state),
    state_received: Math.abs(run.movedUs - state.timestamp) > CLOCKS_APART_US ? run.movedUs : null,
    start_time: run.start_time,
    end_time: run.end_time,
    total_run_time: run.total_run_time,
    engine_id: run.engine_id,
    engine_pid: run.engine_pid,
    assignment_id: run.assignment_id === 0 ? null : run.assignment_id,
    assigned: run.assigned ? 1 : 0,
    report_seq: run.report_seq,
    other_sequences: run.otherSequences.size === 0 ? null : JSON.stringify(Object.fromEntries(run.otherSequences)),
    crash_count: run.crash_count,
    failure_count: run.failure_count,
    attempt: run.attempt,
    uncounted: run.uncounted ? 1 : 0,
    task_counts: run.taskCounts === UNSTARTED.taskCounts ? null : JSON.stringify(run.taskCounts),
    marks: run.marks === "" ? null : run.marks,
  };
}

function detailsText(state: State): string | null {
  return Object.keys(state.details).length === 0 ? null : JSON.stringify(state.details);
}

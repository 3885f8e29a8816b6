/** A run in memory: its row, its task runs, and where it stands in dispatch. */
import { isTerminal, type State, type StateType } from "#protocol/state";
import type { Flow } from "./flow.ts";
import { concurrencyResource, groupOf } from "./flow.ts";
import type { TaskRun } from "./task-run.ts";

/** Why a run that could start has not: the reason code and what blocks it. */
export interface WaitReason {
  code: "no_engine" | "resource" | "not_due" | "held";
  /** The name of the resource, the engine key or what holds it. */
  object: string | null;
  sinceUs: number;
}

export interface Run {
  id: number;
  external_id: string;
  flow: Flow;
  name: string;
  /** Canonical JSON text; null when it is too large to be kept and is read from the store at hand-out. */
  parametersText: string | null;
  tags: string[];
  priority: number;
  /** Reruns after a crash that led to it, and the retries of all of them. */
  attempt: number;
  /** Reruns after a crash that led to it: what the crash limit counts. */
  reruns: number;
  created_by: string;
  created_at: number;
  scheduled_time: number | null;
  schedule_id: number | null;
  backfill_id: number | null;
  parent_run_id: number | null;
  state: State;
  /** When the server took the state, by its own clock; `state.timestamp` may be of an engine whose clock is wrong. */
  movedUs: number;
  start_time: number | null;
  end_time: number | null;
  total_run_time: number | null;
  engine_id: string | null;
  engine_pid: number | null;
  /** The assignment that holds the run now, or the last one; 0 before the first. It is the `lease` of the work item. */
  assignment_id: number;
  /** Last report number of the engine of the assignment. */
  report_seq: number;
  /** Last report numbers of former assignments ("#" and the assignment) and engines (by id); under "" those that never held the run. */
  otherSequences: ReadonlyMap<string, number>;
  crash_count: number;
  failure_count: number;
  /** Number of answers given to its pauses. */
  answers: number;
  tasks: ReadonlyMap<string, TaskRun>;
  taskCounts: Readonly<Partial<Record<StateType, number>>>;
  /** Ids that its task runs name as their parents, counted with repetitions. */
  parentsCount: number;
  /** True from hand-out until the run ends, pauses or is taken back. */
  assigned: boolean;
  /** The engine has shown that it knows of its assignment (transition, report or heartbeat). */
  acknowledged: boolean;
  /** Wall-clock time of the last message about this run from its engine. */
  lastContactUs: number;
  /** The command whose answer handed the run out or reported its newest move; 0 when known to be written. */
  lastCommand: number;
  /** Known artifacts by external id; ids only. */
  artifacts: ReadonlyMap<string, { id: number; created_at: number }>;
  /** Read from the store: what memory does not know of it may still be there. */
  fromStore: boolean;
  /** The answer to the newest move may have been lost: its first repeat is not a refusal. */
  repeatable: boolean;
  /** Where it stands in dispatch. */
  place: "none" | "future" | "ready" | "blocked" | "held" | "behind";
  /** Grows whenever the run leaves its place, so that stale queue entries are recognised. */
  placeStamp: number;
  waiting: WaitReason | null;
  /** How many places it takes in the room for unfinished runs (run-room.ts). */
  places: number;
}

const EMPTY = new Map<never, never>();
const NO_COUNTS = {};
/** Details of a state that has none. */
export const NO_DETAILS: Readonly<Record<string, never>> = Object.freeze({});

/** What every run has before it is started for the first time. Most that wait hold nothing else, so they share it. */
export const UNSTARTED = {
  start_time: null,
  end_time: null,
  total_run_time: null,
  engine_id: null,
  engine_pid: null,
  assignment_id: 0,
  report_seq: 0,
  otherSequences: EMPTY,
  crash_count: 0,
  failure_count: 0,
  answers: 0,
  tasks: EMPTY,
  artifacts: EMPTY,
  taskCounts: NO_COUNTS,
  parentsCount: 0,
  assigned: false,
  acknowledged: false,
  lastContactUs: 0,
  lastCommand: 0,
  repeatable: false,
  fromStore: false,
  place: "none",
  placeStamp: 0,
  waiting: null,
  places: 0,
} as const;

/** A map of a run with one more entry: runs without any share one, which stays empty. */
export function withEntry<K, V>(map: ReadonlyMap<K, V>, key: K, value: V): ReadonlyMap<K, V> {
  if (map.size === 0) return new Map([[key, value]]);
  return (map as Map<K, V>).set(key, value);
}

/** Assignments of a run that are over and whose report numbers are known, two entries each. */
const FORMER_SEQUENCES_MAX = 100;

/** As withEntry, of report numbers: those of the oldest assignments go where there are too many. */
export function withSequence(sequences: ReadonlyMap<string, number>, key: string, last: number): ReadonlyMap<string, number> {
  const changed = withEntry(sequences, key, last);
  if (changed.size <= FORMER_SEQUENCES_MAX) return changed;
  const entries = [...changed];
  return new Map(
    entries.filter(([each], index) => each === "" || each === key || index >= entries.length - FORMER_SEQUENCES_MAX),
  );
}

export function isEnded(run: Run): boolean {
  return isTerminal(run.state.type);
}

/** The priority a run is dispatched by: its own, or a higher one that flows downstream of it ask for. */
export function priorityOf(run: Run): number {
  return Math.max(run.priority, run.flow.inheritedPriority ?? run.priority);
}

/** What dispatch needs to hold before it hands this run out. */
export function needsOf(run: Run): Record<string, number> {
  const { flow } = run;
  const needs: Record<string, number> = { ...flow.options.resources };
  if (flow.options.maxConcurrent > 0) needs[concurrencyResource(flow)] = 1;
  if (run.backfill_id !== null) needs[`backfill:${run.backfill_id}`] = 1;
  return needs;
}

/** The run record of the interface as JSON text; field order as the interface lists it. */
export function renderRun(run: Run, parametersText: string): string {
  const head = JSON.stringify({
    id: run.id,
    external_id: run.external_id,
    name: run.name,
    project: run.flow.project,
    flow_id: run.flow.id,
    flow_name: run.flow.name,
    group: groupOf(run.flow),
    state: {
      name: run.state.name,
      type: run.state.type,
      timestamp: run.state.timestamp,
      message: run.state.message,
      details: run.state.details,
    },
  });
  const tail = JSON.stringify({
    tags: run.tags,
    attempt: run.attempt,
    priority: run.priority,
    created_by: run.created_by,
    created_at: run.created_at,
    start_time: run.start_time,
    end_time: run.end_time,
    total_run_time: run.total_run_time,
    scheduled_time: run.scheduled_time,
    schedule_id: run.schedule_id,
    backfill_id: run.backfill_id,
    parent_run_id: run.parent_run_id,
    engine_id: run.engine_id,
    engine_pid: run.engine_pid,
    crash_count: run.crash_count,
    failure_count: run.failure_count,
    report_seq: run.report_seq,
    task_counts: run.taskCounts,
  });
  return `${head.slice(0, -1)},"parameters":${parametersText},${tail.slice(1)}`;
}

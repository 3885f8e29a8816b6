/** A run in memory: its row, its task runs, and its place in dispatch. */
import { PARAMETERS_IN_MEMORY_BYTES_MAX } from "#protocol/limits";
import { isTerminal, type State, type StateType } from "#protocol/records/state";
import type { RunDurable } from "./durable.ts";
import type { Flow } from "./flow.ts";
import { concurrencyResource, groupOf } from "./flow.ts";
import type { TaskRun } from "./task-run.ts";

/** Why a run has not started: the reason code and what blocks the run. */
export interface WaitReason {
  code: "no_engine" | "max_running" | "resource" | "not_due" | "held";
  /** The name of the resource, the engine key or the holder. */
  object: string | null;
  sinceUs: number;
  /** Runs that hold the resource, if it was held when the wait began; not all of many. */
  holders?: readonly number[];
  /** A wait from before a restart of the core began at this time at the latest. */
  beforeUs?: number;
}

/** What answers, events and hand-outs name of a run, and nothing else needs. */
export interface RunTexts {
  readonly external_id: string;
  readonly name: string;
  /** Canonical JSON text. */
  readonly parameters: string;
  /** JSON text, in which form the tags are stored and sent. */
  readonly tags: string;
  /** The header of W3C Trace Context with which the run was created; most runs have none. */
  readonly traceparent?: string;
}

export interface Run {
  id: number;
  flow: Flow;
  /** Null while they are in the store alone: after a start, and when they are large (LiveState.textsOf). */
  texts: RunTexts | null;
  /** Length of the texts that may stay in memory (lengthOfTexts). */
  textLength: number;
  priority: number;
  /** Crash reruns that led to this run, plus all their retries. */
  attempt: number;
  /** Crash reruns that led to this run; the crash limit counts these. */
  reruns: number;
  created_by: string;
  created_at: number;
  scheduled_time: number | null;
  schedule_id: number | null;
  backfill_id: number | null;
  parent_run_id: number | null;
  /** Of a run that repeats the run of a fire; see fireTimeOf. */
  fire_time: number | null;
  state: State;
  /** When the server received the state, by its own clock; `state.timestamp` may come from an engine with a wrong clock. */
  movedUs: number;
  start_time: number | null;
  end_time: number | null;
  total_run_time: number | null;
  engine_id: string | null;
  engine_pid: number | null;
  /** The current or last assignment, sent as `lease` in the work item; 0 before the first. */
  assignment_id: number;
  /** Last report number of the assignment's engine. */
  report_seq: number;
  /**
   * Last report numbers of former assignments ("#" and the assignment) and engines (by id); under "" those of engines that
   * never held the run.
   */
  otherSequences: ReadonlyMap<string, number>;
  crash_count: number;
  /** A crash of the run, or of those that it repeats, was not counted; the next one is. */
  uncounted: boolean;
  failure_count: number;
  /** Number of answers given to the run's pauses. */
  answers: number;
  tasks: ReadonlyMap<string, TaskRun>;
  taskCounts: Readonly<Partial<Record<StateType, number>>>;
  /** Number of parent ids that the task runs name, with repetitions. */
  parentsCount: number;
  /** True from hand-out until the run ends, pauses or is taken back. */
  assigned: boolean;
  /** The engine has acknowledged its assignment (by transition, report or heartbeat). */
  acknowledged: boolean;
  /** Uptime of the process at the hand-out, or at the engine's last message about this run; below 0 before the process. */
  lastContactUs: number;
  /** The command whose answer handed out the run or confirmed its newest move; 0 when that answer is known to be delivered. */
  lastCommand: number;
  /** Known artifacts by external id; ids only. */
  artifacts: ReadonlyMap<string, { id: number; created_at: number }>;
  /** Loaded from the store: entries missing in memory may still be stored. */
  fromStore: boolean;
  /** The answer to the newest move may have been lost, so one repetition of the move is accepted. */
  repeatable: boolean;
  /** The run repeats one that may have ended its engine: it shares its engine with no other run. */
  alone: boolean;
  /** The run's place in dispatch. */
  place: "none" | "future" | "ready" | "blocked" | "held" | "behind";
  /** Incremented whenever the run leaves its place, so that stale queue entries are recognised. */
  placeStamp: number;
  waiting: WaitReason | null;
  /** Marks since the row was written last (run-marks.ts). */
  marks: string;
  /** Length of all marks, the stored ones included. */
  marksLength: number;
  /** Null for most runs: neither durable, nor a child, nor gone from its engine to wait. */
  durable: RunDurable | null;
  /** Memory that the run takes, in units of a usual run (run-room.ts). */
  memoryUnits: number;
}

const EMPTY = new Map<never, never>();
const NO_COUNTS = {};
/** The tags of a run without any, as JSON text. */
export const NO_TAGS = "[]";
/** Details of a state without any. */
export const NO_DETAILS: Readonly<Record<string, never>> = Object.freeze({});

/** Fields of every run before its first start. Shared, because most waiting runs hold nothing else. */
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
  uncounted: false,
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
  alone: false,
  place: "none",
  placeStamp: 0,
  waiting: null,
  marks: "",
  marksLength: 0,
  durable: null,
  memoryUnits: 0,
} as const;

/** The map with one more entry; runs share a single empty map until their first entry. */
export function withEntry<K, V>(map: ReadonlyMap<K, V>, key: K, value: V): ReadonlyMap<K, V> {
  if (map.size === 0) return new Map([[key, value]]);
  return (map as Map<K, V>).set(key, value);
}

/** Ended assignments of a run whose report numbers are kept, two entries each. */
const FORMER_SEQUENCES_MAX = 100;

/** Like withEntry, for report numbers; evicts those of the oldest assignments beyond the maximum. */
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

/**
 * The time of the fire that the run is for; null without a schedule. A run that repeats another one has no scheduled time,
 * because a fire has one run.
 */
export function fireTimeOf({ fire_time, schedule_id, scheduled_time }: Run): number | null {
  return schedule_id === null ? null : (fire_time ?? scheduled_time);
}

/** Whether the run shares its engine with no other run. */
export function isExclusive(run: Run): boolean {
  return run.alone || run.flow.exclusive;
}

/** The effective priority of a run: its own, or a higher one inherited from downstream flows. */
export function priorityOf(run: Run): number {
  return Math.max(run.priority, run.flow.inheritedPriority ?? run.priority);
}

/** Whether a run has waited for so long. A wait that began in the future began before the clock was set back. */
export function hasWaited({ waiting }: Run, nowUs: number, leastUs: number): boolean {
  if (waiting === null) return false;
  const waitedUs = nowUs - waiting.sinceUs;
  return waitedUs < 0 || waitedUs >= leastUs;
}

/** The resources required to hand out this run: none if it kept them while it was away. */
export function needsOf(run: Run): Record<string, number> {
  if (run.durable?.holds === true) return {};
  const { flow } = run;
  const needs: Record<string, number> = { ...flow.options.resources };
  if (flow.options.maxConcurrent > 0) needs[concurrencyResource(flow)] = 1;
  if (run.backfill_id !== null) needs[`backfill:${run.backfill_id}`] = 1;
  return needs;
}

/** Large parameters stay in the store alone once they are committed, and count nothing. */
export function lengthOfTexts({ name, parameters, tags, traceparent = "" }: RunTexts): number {
  const kept = parameters.length > PARAMETERS_IN_MEMORY_BYTES_MAX ? 0 : parameters.length;
  return name.length + tags.length + traceparent.length + kept;
}

/** The fields of a run that has a lineage; no others have them. */
function lineageFields(durable: RunDurable | null) {
  if (durable === null || durable.lineageId === null) return undefined;
  const { lineageId: lineage_id, callerRunId: caller_run_id } = durable;
  return caller_run_id === null ? { lineage_id } : { lineage_id, caller_run_id };
}

/** The field of a run of a fire, or of one that repeats it; no others have it. */
function fireField(run: Run) {
  const fire_time = fireTimeOf(run);
  return fire_time === null ? undefined : { fire_time };
}

/** The run record as JSON text, with fields in the order of the interface. */
export function renderRun(run: Run, { external_id, name, parameters, tags, traceparent }: RunTexts): string {
  const head = JSON.stringify({
    id: run.id,
    external_id,
    name,
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
    attempt: run.attempt,
    priority: run.priority,
    created_by: run.created_by,
    created_at: run.created_at,
    start_time: run.start_time,
    end_time: run.end_time,
    total_run_time: run.total_run_time,
    scheduled_time: run.scheduled_time,
    ...fireField(run),
    schedule_id: run.schedule_id,
    backfill_id: run.backfill_id,
    parent_run_id: run.parent_run_id,
    ...lineageFields(run.durable),
    engine_id: run.engine_id,
    engine_pid: run.engine_pid,
    crash_count: run.crash_count,
    failure_count: run.failure_count,
    report_seq: run.report_seq,
    task_counts: run.taskCounts,
    ...(traceparent !== undefined && { traceparent }),
  });
  return `${head.slice(0, -1)},"parameters":${parameters},"tags":${tags},${tail.slice(1)}`;
}

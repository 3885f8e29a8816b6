/** Builds the live state from the store: rows become records, the queue and the deadlines are made anew. */

import type { State, StateType } from "#protocol/state";
import type { Outbox } from "#runtime/effect";
import {
  findArtifact,
  findFanIn,
  findIdempotency,
  findVariable,
  hasOldHistory,
  hasSecrets,
  type LoadedRun,
  type LoadedStore,
  loadBackfill,
  loadRun,
  type RunRow,
  runsEndedBefore,
  type TaskRunRow,
} from "#storage/load";
import { chainOf, hasFired, loadRules } from "#storage/load-rules";
import type { Statements } from "#storage/statements";
import { addEngine, newEngine } from "../dispatcher/engines.ts";
import { enqueue } from "../dispatcher/hand-out.ts";
import { queueBulkCheck } from "../dispatcher/jobs.ts";
import { armCancel, armTimeout } from "../dispatcher/moves.ts";
import type { GroupPorts } from "../group.ts";
import { Turn } from "../turn.ts";
import type { EngineKey } from "./engine.ts";
import { type Flow, readOptions } from "./flow.ts";
import { type DispatchSettings, LiveState, type RunReader } from "./live-state.ts";
import { toBackfill } from "./load-backfills.ts";
import { loadSchedules } from "./load-schedules.ts";
import { isEnded, type Run } from "./run.ts";
import type { TaskRun } from "./task-run.ts";

/** The state without its queue; `resume` fills that in. `statements` serve later reads of single runs. */
export function loadLiveState(
  stored: LoadedStore,
  statements: Statements,
  settings: DispatchSettings,
  liveFlows: ReadonlySet<number>,
): LiveState {
  const reader: RunReader = {
    readRun: (id) => {
      const loaded = loadRun(statements, id);
      const flow = loaded === null ? undefined : state.flows.get(loaded.run.flow_id);
      return loaded === null || flow === undefined ? null : toRun(loaded, flow);
    },
    readParameters: (id) => loadRun(statements, id)?.run.parameters ?? "{}",
    findArtifact: (runId, externalId) => findArtifact(statements, runId, externalId),
    findFanIn: (downstreamId, value) => findFanIn(statements, downstreamId, value),
    readBackfill: (id) => {
      const loaded = loadBackfill(statements, id);
      return loaded === null ? null : toBackfill(loaded);
    },
    findAnswer: (key) => findIdempotency(statements, key),
    findVariable: (name) => findVariable(statements, name),
    hasFired: (rule, run) => hasFired(statements, rule, run),
    chainOf: (run) => chainOf(statements, run),
    hasOldHistory: (beforeUs, lastEvent) => hasOldHistory(statements, beforeUs, lastEvent),
    runsEndedBefore: (beforeUs, limit) => runsEndedBefore(statements, beforeUs, limit),
    hasSecrets: () => hasSecrets(statements),
  };
  const state = new LiveState(reader, nextIdsOf(stored), settings, loadRules(statements));
  for (const row of stored.flows) {
    const options = parseMap(row.options);
    const schema = parseMap(row.parameter_schema);
    const flow: Flow = {
      ...row,
      tags: JSON.parse(row.tags) as string[],
      parameter_schema: Object.keys(schema).length === 0 ? null : schema,
      optionsText: row.options,
      options: readOptions(options),
      live: liveFlows.has(row.id),
      handedOut: 0,
      inheritedPriority: null,
    };
    state.putFlow(flow);
  }
  loadRuns(state, stored);
  loadSchedules(state, stored);
  for (const loaded of stored.backfills) state.addBackfill(toBackfill(loaded));
  return state;
}

/** Every id is above all that were given, also those that only unfinished runs know. */
function nextIdsOf(stored: LoadedStore): LiveState["nextIds"] {
  const { next_ids } = stored;
  const assignments = stored.runs.map((run) => Math.abs(run.assignment_id ?? 0) + 1);
  return {
    flow: next_ids.flows,
    run: next_ids.runs,
    task_run: next_ids.task_runs,
    artifact: next_ids.artifacts,
    schedule: next_ids.schedules,
    backfill: next_ids.backfills,
    lease: assignments.reduce((most, id) => Math.max(most, id), next_ids.leases),
  };
}

function loadRuns(state: LiveState, stored: LoadedStore): void {
  const tasks = Map.groupBy(stored.task_runs, (task) => task.run_id);
  const answers = Map.groupBy(stored.answers, (answer) => answer.run_id);
  for (const row of stored.runs) {
    const flow = state.flows.get(row.flow_id);
    if (flow === undefined) continue;
    const loaded = { run: row, task_runs: tasks.get(row.id) ?? [], answers: answers.get(row.id) ?? [] };
    state.runs.set(row.id, toRun(loaded, flow));
  }
  for (const lease of stored.leases) {
    const { id, run_id } = lease;
    if (!state.runs.has(run_id)) continue;
    const kind = lease.kind === "run" ? "run" : "explicit";
    state.ledger.take({
      id,
      run_id,
      kind,
      resources: parseMap(lease.resources) as Record<string, number>,
      sinceUs: lease.created_at,
    });
  }
}

/** Puts runs where they belong: queue, deadlines, engines; the decisions of this step go out with `turn`. */
export function resume(state: LiveState, stored: Pick<LoadedStore, "engines" | "reruns">, ports: GroupPorts, out: Outbox): Turn {
  const turn = new Turn(state, ports.nowUs(), ports.ids, out, ports.nextTurn());
  for (const row of stored.engines) {
    const engine = newEngine(row.id, row.pid, JSON.parse(row.project_key ?? "{}") as EngineKey, turn.nowUs);
    engine.pidStarted = row.pid_started;
    engine.host = row.host;
    engine.local = row.host === null || row.host === state.settings.host;
    engine.stored = true;
    addEngine(turn, engine);
  }
  for (const run of [...state.runs.values()]) place(turn, run);
  // A rerun that seems further away than any is from before the clock was set back.
  const longestUs = state.settings.rerunDelaySeconds[1] * 1e6;
  for (const { run_id, due } of stored.reruns) state.deadlines.wait("rerun", run_id, Math.min(due - turn.nowUs, longestUs));
  for (const backfill of state.backfills.all()) {
    const flow = state.flows.get(backfill.flow_id);
    if (!backfill.prefiltered && flow !== undefined) queueBulkCheck(turn, flow, backfill.id);
  }
  return turn;
}

function place(turn: Turn, run: Run): void {
  // The clock may have been set back since.
  run.lastContactUs = Math.min(run.lastContactUs, turn.nowUs);
  const { state } = turn;
  if (run.assigned) {
    run.flow.handedOut += 1;
    run.repeatable = true;
    state.engines.get(run.engine_id ?? "")?.runs.add(run.id);
  }
  const { type } = run.state;
  const { timeoutSeconds } = run.flow.options;
  if (type === "Scheduled" && !run.assigned) enqueue(turn, run);
  if (type === "Running" && timeoutSeconds !== null) armTimeout(turn, run, timeoutSeconds, turn.receivedUs - run.movedUs);
  if (type === "Cancelling") armCancel(turn, run);
}

function toRun(loaded: LoadedRun, flow: Flow): Run {
  const { run: row } = loaded;
  const tasks = loaded.task_runs.map(toTask);
  const run: Run = {
    ...fieldsOf(row),
    flow,
    tags: JSON.parse(row.tags) as string[],
    parametersText: row.parameters,
    state: stateOf(row),
    movedUs: row.state_received ?? row.state_timestamp,
    otherSequences: new Map(Object.entries(parseMap(row.other_sequences ?? "{}") as Record<string, number>)),
    tasks: new Map(tasks.map((task) => [task.external_id, task])),
    artifacts: new Map(),
    answers: loaded.answers.length,
    taskCounts: {},
    assigned: (row.assignment_id ?? 0) > 0,
    acknowledged: row.state_type !== "Scheduled",
    lastContactUs: row.state_timestamp,
    lastCommand: 0,
    repeatable: false,
    fromStore: true,
    place: "none",
    placeStamp: 0,
    waiting: null,
  };
  for (const task of tasks) {
    const type = task.state?.type ?? "Pending";
    run.taskCounts[type] = (run.taskCounts[type] ?? 0) + 1;
  }
  if (isEnded(run)) run.assigned = false;
  return run;
}

/** The columns that are kept as they are. */
function fieldsOf(row: RunRow) {
  const { id, external_id, name, priority, reruns, created_by, created_at, scheduled_time, schedule_id, backfill_id } = row;
  const {
    parent_run_id,
    start_time,
    end_time,
    total_run_time,
    engine_id,
    engine_pid,
    report_seq,
    crash_count,
    failure_count,
    attempt,
  } = row;
  const identity = { id, external_id, name, priority, reruns, created_by, created_at };
  const origin = { scheduled_time, schedule_id, backfill_id, parent_run_id };
  const progress = {
    start_time,
    end_time,
    total_run_time,
    engine_id,
    engine_pid,
    report_seq,
    crash_count,
    failure_count,
    attempt,
  };
  return { ...identity, ...origin, ...progress, assignment_id: Math.abs(row.assignment_id ?? 0) };
}

function toTask(row: TaskRunRow): TaskRun {
  const { state_type, state_name, state_timestamp, state_message, state_details, parents, ...fields } = row;
  // A task run before its first move reads as Pending with timestamp 0.
  const unmoved = state_type === "Pending" && state_timestamp === 0;
  const state = unmoved ? null : stateOf({ state_type, state_name, state_timestamp, state_message, state_details });
  return { ...fields, parents: JSON.parse(parents) as string[], state };
}

type StateColumns = Pick<RunRow, "state_type" | "state_name" | "state_timestamp" | "state_message" | "state_details">;

function stateOf(row: StateColumns): State {
  return {
    type: row.state_type as StateType,
    name: row.state_name,
    timestamp: row.state_timestamp,
    message: row.state_message,
    details: parseMap(row.state_details),
  };
}

function parseMap(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>;
}

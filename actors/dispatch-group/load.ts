/** Builds the live state from the store: rows become records; the queue and the deadlines are rebuilt. */

import type { State } from "#protocol/records/state";
import { parseKeepingFractions } from "#protocol/values/json";
import type { Outbox } from "#runtime/effect";
import {
  endedRunsOf,
  findArtifact,
  findFanIn,
  findIdempotency,
  findVariable,
  hasOldHistory,
  hasSecrets,
  type LoadedStore,
  loadBackfill,
  runsEndedBefore,
  runsOfFiresAfter,
} from "#storage/load/load";
import { type DurableReads, durableReads } from "#storage/load/load-durable";
import { chainOf, hasFired, loadRules } from "#storage/load/load-rules";
import { type LoadedRun, loadRun, type RunRow, readTexts, type TaskRunRow, unfinishedRuns } from "#storage/load/load-runs";
import type { Statements } from "#storage/sqlite/statements";
import type { GroupPorts } from "../core/ports.ts";
import { ClockWatch } from "../core/state/clock-watch.ts";
import { newDurable } from "../core/state/durable.ts";
import { engineKey, REPORTS_WITHIN_US, type StoredEngine } from "../core/state/engine.ts";
import { type Flow, readOptions } from "../core/state/flow.ts";
import { type DispatchSettings, LiveState, type RunReader } from "../core/state/live-state.ts";
import { isEnded, NO_DETAILS, type Run, UNSTARTED } from "../core/state/run.ts";
import { SharedTexts } from "../core/state/shared-texts.ts";
import type { TaskRun } from "../core/state/task-run.ts";
import { Turn } from "../core/turn.ts";
import { queueBulkCheck } from "../dispatcher/engines/jobs.ts";
import { addEngine, newEngine } from "../dispatcher/engines/registered-engines.ts";
import { enqueue } from "../dispatcher/hand-out/hand-out.ts";
import { armCancel, armTimeout } from "../dispatcher/states/moves.ts";
import { loadBackfills, toBackfill } from "./load-backfills.ts";
import { addDurable } from "./load-durable-runs.ts";
import { loadSchedules } from "./load-schedules.ts";

/** The state without its queue, which `resume` builds. `statements` also serves later reads of single runs. */
export function loadLiveState(
  stored: LoadedStore,
  statements: Statements,
  settings: DispatchSettings,
  liveFlows: ReadonlySet<number>,
): LiveState {
  const durable = durableReads(statements);
  const reader = readerOf((id) => state.flows.get(id), statements, durable);
  const state = new LiveState(reader, nextIdsOf(stored), settings, loadRules(statements));
  state.clock = new ClockWatch(stored.clock, settings.host);
  for (const row of stored.flows) {
    const options = parseKeepingFractions(row.options) as Record<string, unknown>;
    const schema = parseKeepingFractions(row.parameter_schema) as Record<string, unknown>;
    const flow: Flow = {
      ...row,
      tags: JSON.parse(row.tags) as string[],
      parameter_schema: Object.keys(schema).length === 0 ? null : schema,
      optionsText: row.options,
      options: readOptions(options),
      live: liveFlows.has(row.id),
      handedOut: 0,
      away: 0,
      inheritedPriority: null,
      exclusive: false,
    };
    state.putFlow(flow);
  }
  const away = durable.readAway();
  loadRuns(state, statements, new Set(away.ids));
  state.nextIds.lease = Math.max(state.nextIds.lease, away.lease + 1);
  addDurable(state, durable, away);
  loadLeases(state, stored);
  loadSchedules(state, stored);
  loadBackfills(state, stored.open_backfills);
  return state;
}

/** The reads of the group on one handle. */
export function readerOf(flowOf: (id: number) => Flow | undefined, statements: Statements, durable: DurableReads): RunReader {
  const runOf = (loaded: LoadedRun): Run[] => {
    const flow = flowOf(loaded.run.flow_id);
    return flow === undefined ? [] : [toRun(loaded, flow)];
  };
  return {
    readRun: (id, withTasks) => {
      const loaded = loadRun(statements, id, withTasks);
      return loaded === null ? null : (runOf(loaded)[0] ?? null);
    },
    readParked: (ids) => {
      const { runs, ...waiting } = durable.loadParked(ids);
      return { runs: runs.flatMap(runOf), ...waiting };
    },
    readTexts: (id) => readTexts(statements, id),
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
    endedRunsOf: (flowId, limit) => endedRunsOf(statements, flowId, limit),
    runsOfFiresAfter: (scheduleId, us) => runsOfFiresAfter(statements, scheduleId, us),
    hasSecrets: () => hasSecrets(statements),
    ...durable,
  };
}

/** Every id above the stored counters; loadRuns also considers ids that only unfinished runs hold. */
function nextIdsOf(stored: LoadedStore): LiveState["nextIds"] {
  const { next_ids } = stored;
  return {
    flow: next_ids.flows,
    run: next_ids.runs,
    task_run: next_ids.task_runs,
    artifact: next_ids.artifacts,
    schedule: next_ids.schedules,
    backfill: next_ids.backfills,
    wait: next_ids.waits,
    lease: next_ids.leases,
  };
}

function loadRuns(state: LiveState, statements: Statements, away: ReadonlySet<number>): void {
  const { nextIds } = state;
  const creators = new SharedTexts((text) => text);
  const share = (text: string): string => creators.get(text);
  let before: Run | null = null;
  for (const loaded of unfinishedRuns(statements, away)) {
    const flow = state.flows.get(loaded.run.flow_id);
    nextIds.lease = Math.max(nextIds.lease, (loaded.run.assignment_id ?? 0) + 1);
    if (flow === undefined) continue;
    const run = toRun(loaded, flow, share);
    // The runs of a backfill wait in one state.
    if (before !== null && isSameState(before.state, run.state)) run.state = before.state;
    before = run;
    state.runs.set(run.id, run);
    state.room.count(run);
  }
}

function isSameState(a: State, b: State): boolean {
  const isPlain = a.details === NO_DETAILS && b.details === NO_DETAILS;
  return isPlain && a.timestamp === b.timestamp && a.type === b.type && a.name === b.name && a.message === b.message;
}

function loadLeases(state: LiveState, stored: LoadedStore): void {
  for (const lease of stored.leases) {
    const { id, run_id, kind } = lease;
    if (!state.runs.has(run_id)) continue;
    state.ledger.take({
      id,
      run_id,
      kind,
      resources: parseMap(lease.resources) as Record<string, number>,
      sinceUs: lease.created_at,
    });
  }
}

/** Puts runs into queue and deadlines and registers engines; decisions of this step are sent with `turn`. */
export function resume(
  state: LiveState,
  stored: Pick<LoadedStore, "engines" | "reruns" | "newest_event_us">,
  ports: GroupPorts,
  out: Outbox,
): Turn {
  const turn = new Turn(state, ports.nowUs(), ports.ids, out, ports.nextTurn());
  // In the read-only state, decisions are dropped, and this live state is replaced later.
  if (!ports.readOnly) state.clock.look(turn);
  for (const row of stored.engines) {
    const { exchanges = false, ...fields } = JSON.parse(row.project_key ?? "{}") as Partial<StoredEngine>;
    const key = engineKey({ source_dir: "", module: "", isolated: false, nice: 0, ...fields });
    const engine = newEngine(row.id, row.pid, key, turn);
    engine.exchanges = exchanges;
    // Until its next request: a signal because of one run would end all runs of the engine.
    engine.ownsStop = exchanges;
    engine.pidStarted = row.pid_started;
    engine.host = row.host;
    engine.local = row.host === null || row.host === state.settings.host;
    engine.stored = true;
    addEngine(turn, engine);
  }
  for (const run of [...state.runs.values()]) place(turn, run, stored.newest_event_us);
  // A rerun further away than the longest delay was set before the clock was set back.
  const longestUs = state.settings.rerunDelaySeconds[1] * 1e6;
  for (const { run_id, due } of stored.reruns) {
    state.deadlines.wait("rerun", run_id, Math.min(due - turn.nowUs, longestUs), due);
    state.room.keepForRerun(run_id, due);
  }
  for (const backfill of state.backfills.all()) {
    const flow = state.flows.get(backfill.flow_id);
    if (!backfill.prefiltered && flow !== undefined) queueBulkCheck(turn, flow, backfill.id);
  }
  return turn;
}

/** `storedUs`: the newest event of the store. */
function place(turn: Turn, run: Run, storedUs: number | null): void {
  const { state } = turn;
  // The clock may have been set back. Without a server, an engine could not acknowledge its run, so its wait starts now; nor
  // could one list its runs, and an exchange from before the restart may still arrive.
  const waits = !run.acknowledged || state.engines.get(run.engine_id ?? "")?.exchanges === true;
  const silenceUs = waits ? 0 : Math.max(0, turn.nowUs - run.state.timestamp);
  run.lastContactUs = state.uptimeUs() - silenceUs;
  if (run.assigned) {
    run.flow.handedOut += 1;
    run.repeatable = true;
    state.engines.get(run.engine_id ?? "")?.runs.set(run.id, run);
  }
  const { type } = run.state;
  const { timeoutSeconds } = run.flow.options;
  if (type === "Scheduled" && !run.assigned) {
    enqueue(turn, run);
    noteRestart(turn, run, storedUs);
  }
  if (type === "Running" && timeoutSeconds !== null) {
    const ranUs = run.durable?.ranUs ?? 0;
    const ranTotalUs = Math.max(0, ranUs + turn.trustedUs - run.movedUs);
    // The run may have ended in time while the server was away.
    armTimeout(turn, run, Math.max(timeoutSeconds * 1e6 - ranTotalUs, REPORTS_WITHIN_US - state.uptimeUs()));
  }
  if (type === "Cancelling") armCancel(turn, run);
}

/** Notes that a run waited before this start, if it was due then; runs in the line of a backfill share what they wait for. */
function noteRestart({ nowUs }: Turn, run: Run, storedUs: number | null): void {
  const { waiting, scheduled_time, created_at } = run;
  if (waiting === null || storedUs === null || run.place === "behind" || run.place === "future") return;
  const beforeUs = Math.max(storedUs, scheduled_time ?? 0, created_at);
  if (beforeUs < nowUs) run.waiting = { ...waiting, beforeUs };
}

function toRun(loaded: LoadedRun, flow: Flow, share: (text: string) => string = (text) => text): Run {
  const { run: row } = loaded;
  const tasks = tasksOf(loaded.task_runs);
  // Written out, because spreading objects takes twice the time and more memory, and there may be a million runs.
  const run: Run = {
    id: row.id,
    flow,
    texts: null,
    textLength: row.text_length,
    priority: row.priority,
    attempt: row.attempt,
    reruns: row.reruns,
    created_by: share(row.created_by),
    created_at: row.created_at,
    scheduled_time: row.scheduled_time,
    schedule_id: row.schedule_id,
    backfill_id: row.backfill_id,
    parent_run_id: row.parent_run_id,
    fire_time: row.fire_time,
    state: stateOf(row),
    movedUs: row.state_received ?? row.state_timestamp,
    start_time: row.start_time,
    end_time: row.end_time,
    total_run_time: row.total_run_time,
    engine_id: row.engine_id,
    engine_pid: row.engine_pid,
    assignment_id: row.assignment_id ?? 0,
    report_seq: row.report_seq,
    otherSequences: row.other_sequences === null ? UNSTARTED.otherSequences : sequencesOf(row.other_sequences),
    crash_count: row.crash_count,
    uncounted: row.uncounted === 1,
    failure_count: row.failure_count,
    answers: loaded.answers,
    tasks,
    artifacts: UNSTARTED.artifacts,
    taskCounts: row.task_counts === "{}" ? UNSTARTED.taskCounts : (JSON.parse(row.task_counts) as Run["taskCounts"]),
    parentsCount: parentsIn(tasks),
    assigned: row.assigned === 1,
    // A run that waits for its own retry is Scheduled too, after reports of its engine.
    acknowledged: row.state_type !== "Scheduled" || row.report_seq > 0,
    lastContactUs: 0,
    lastCommand: 0,
    repeatable: false,
    fromStore: true,
    alone: row.alone === 1,
    place: "none",
    placeStamp: 0,
    waiting: null,
    marks: "",
    marksLength: row.marks_length,
    durable: row.lineage_id === null ? null : newDurable(row.lineage_id, row.caller_run_id),
    memoryUnits: 0,
  };
  if (isEnded(run)) run.assigned = false;
  return run;
}

function sequencesOf(text: string): Run["otherSequences"] {
  return new Map(Object.entries(parseMap(text) as Record<string, number>));
}

function tasksOf(rows: readonly TaskRunRow[]): Run["tasks"] {
  return rows.length === 0 ? UNSTARTED.tasks : new Map(rows.map((row) => [row.external_id, toTask(row)]));
}

function parentsIn(tasks: Run["tasks"]): number {
  let count = 0;
  for (const { parents } of tasks.values()) count += parents.length;
  return count;
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
    type: row.state_type,
    name: row.state_name,
    timestamp: row.state_timestamp,
    message: row.state_message,
    details: row.state_details === "{}" ? NO_DETAILS : parseMap(row.state_details),
  };
}

function parseMap(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>;
}

/**
 * Applies an accepted move to a run or a task run: counters, times, events, and the release at an end or pause.
 */
import { INTEGER_MAX } from "#protocol/limits";
import { isTerminal, type State, type StateType } from "#protocol/records/state";
import type { Run } from "../../core/state/run.ts";
import { markMove } from "../../core/state/run-marks.ts";
import type { TaskRun } from "../../core/state/task-run.ts";
import type { Turn } from "../../core/turn.ts";
import { noteFailure } from "../../scheduler/schedules/disable-window.ts";
import { noteCompletion } from "../creation/fan-in.ts";
import { noteAway, noteMove } from "../durable/away.ts";
import { orderStop } from "../engines/stop-order.ts";
import { enqueue, releaseRun } from "../hand-out/hand-out.ts";
import { requestHookCall } from "./hooks.ts";

/** Events by state name, where the name decides, and the type it has then; null for none. Other states use the type. */
const RUN_EVENTS: Readonly<Record<string, readonly [type: StateType, event: string | null]>> = {
  Late: ["Scheduled", "run.late"],
  Retrying: ["Running", "run.retrying"],
  Skipped: ["Completed", "run.skipped"],
  Resuming: ["Scheduled", "run.resumed"],
  Sleeping: ["Scheduled", null],
  AwaitingEvent: ["Scheduled", null],
  AwaitingChild: ["Scheduled", null],
  AwaitingRetry: ["Scheduled", null],
  AwaitingResource: ["Scheduled", null],
};

/** Events of task run moves: by type, except for names with their own event or none. */
const TASK_EVENTS: Readonly<Record<string, string | null>> = {
  Running: "task_run.running",
  Completed: "task_run.completed",
  Failed: "task_run.failed",
  Cancelled: "task_run.cancelled",
  Skipped: "task_run.skipped",
  Cached: "task_run.cached",
  Retrying: null,
};

/** Who moves a run. When an engine moves its own run, the engine calls the hook. */
export type Mover = "server" | "engine";

/**
 * Moves a run into an accepted state. The downstream runs of a completed run are left to the caller: the run waits for them
 * in `turn.completed`. All callers but those that create runs call `moveRun` or `forceRun` (move-run.ts), which create them.
 */
export function enterState(
  turn: Turn,
  run: Run,
  state: State,
  extra: Record<string, unknown> | null,
  mover: Mover,
  force: boolean,
): void {
  const before = run.state;
  const revived = isTerminal(before.type) && !isTerminal(state.type);
  if (mover === "server" && leavesTasks(turn, run, state, force))
    endTasks(turn, run, "Cancelled", `the run was moved to ${state.name}`);
  run.movedUs = turn.receivedUs;
  if (isTerminal(before.type)) turn.rows.countEnded(run.flow, "", run, -1);
  run.state = state;
  if (state.type === "Failed" || state.name === "AwaitingRetry") run.failure_count += 1;
  if (state.type === "Crashed") run.crash_count += 1;
  if (state.name === "Retrying") run.attempt += 1;
  if (state.type === "Running") {
    turn.state.durations.started(run, turn.nowUs);
    run.start_time ??= state.timestamp;
  }
  if (isTerminal(state.type)) {
    run.end_time = state.timestamp;
    run.total_run_time = durationOf(run.start_time, state.timestamp);
  } else if (revived) {
    run.end_time = null;
    run.total_run_time = null;
    turn.state.schedules.revive(run);
  }
  if (isTerminal(state.type)) turn.rows.countEnded(run.flow, "", run, 1);
  turn.rows.countRun(run.flow, before.type, state.type);
  markMove(run, before.type, mover === "engine", turn.nowUs);
  turn.rows.touchRun(run, true);
  turn.state.countInBackfill(run, before.name, state.name);
  if (run.durable !== null) noteMove(turn, run, run.durable, revived);
  const event = eventOf(state);
  if (event) turn.events.ofRun(event, run, extra);
  if (mover === "server") requestHookCall(turn, run);
  if (revived && before.type === "Completed") noteCompletion(turn, run, false);
  afterMove(turn, run, state, force);
}

/**
 * Whether a move of the server, a person or a rule leaves the run without an engine that says how its task runs under way end. An
 * engine that sends no leases moves its run by the same requests as a person, and may report its task runs afterwards.
 */
function leavesTasks(turn: Turn, run: Run, { type }: State, force: boolean): boolean {
  const engine = run.engine_id === null ? undefined : turn.state.engines.get(run.engine_id);
  const isTaken = force || engine?.exchanges === true;
  if (isTerminal(type)) return isTaken || !run.assigned;
  return run.assigned && ((type === "Paused" && isTaken) || (type === "Scheduled" && force));
}

/** The event that records a state of a run; none for Cancelling, whatever its name. */
function eventOf({ type, name }: State): string | null {
  // Own keys only, because a custom state name may equal an inherited property.
  const [named, event = null] = Object.hasOwn(RUN_EVENTS, name) ? (RUN_EVENTS[name] ?? []) : [];
  if (named === type) return event;
  return type === "Cancelling" ? null : `run.${type.toLowerCase()}`;
}

function afterMove(turn: Turn, run: Run, state: State, force: boolean): void {
  const { options } = run.flow;
  if (state.type !== "Scheduled") turn.state.queue.leave(run);
  if (isTerminal(state.type)) releaseRun(turn, run);
  else if (state.type === "Paused") {
    releaseRun(turn, run);
    if (run.durable?.stored === true) noteAway(run, run.durable);
  } else if (state.type === "Scheduled" && run.place === "none" && (!run.assigned || force)) {
    // A run that an engine holds sleeps in the engine between retries, unless it is forced; any other Scheduled run is queued.
    releaseRun(turn, run);
    if (run.durable?.stored === true) noteAway(run, run.durable);
    enqueue(turn, run);
  }
  if (state.type === "Running" && options.timeoutSeconds !== null) {
    armTimeout(turn, run, options.timeoutSeconds * 1e6 - (run.durable?.ranUs ?? 0));
  }
  if (state.type === "Cancelling") {
    armCancel(turn, run);
    if (run.assigned) orderStop(turn, run, "cancel");
  }
  if (state.type === "Cancelled") {
    run.answers = 0;
    turn.rows.put("delete_answers", { run_id: run.id });
  }
  if (state.type === "Completed") turn.completed.push({ run, above: null });
  if (state.type === "Failed") noteFailure(turn, run);
}

/** The run's time limit passes after this time, by the server's clock, because an engine's clock may be wrong. */
export function armTimeout(turn: Turn, run: Run, afterUs: number): void {
  turn.state.deadlines.wait("timeout", run.id, afterUs, run.state.timestamp);
}

/** Null before the first start. Clamped, because times stored before limits existed may exceed the integer range. */
function durationOf(startUs: number | null, endUs: number): number | null {
  return startUs === null ? null : Math.min(INTEGER_MAX, Math.max(0, endUs - startUs));
}

/** For every cancel, whoever requested it: a run that does not end within the grace is killed. */
export function armCancel(turn: Turn, run: Run): void {
  const { deadlines, settings } = turn.state;
  deadlines.wait("cancel-term", run.id, settings.cancelGraceUs);
  deadlines.wait("cancel-kill", run.id, 2 * settings.cancelGraceUs);
}

/** Moves a task run into an accepted state; its times come from the engine. */
export function moveTask(turn: Turn, run: Run, task: TaskRun, state: State): void {
  const before = task.state;
  if (before !== null && isTerminal(before.type)) turn.rows.countEnded(run.flow, task.name, { ...task, state: before }, -1);
  task.state = state;
  if (state.type === "Failed" || state.name === "AwaitingRetry") task.failure_count += 1;
  if (state.type === "Crashed") task.crash_count += 1;
  if (state.type === "Running") task.start_time ??= state.timestamp;
  if (isTerminal(state.type)) {
    task.end_time = state.timestamp;
    task.total_run_time = durationOf(task.start_time, state.timestamp);
  } else {
    task.end_time = null;
    task.total_run_time = null;
  }
  const from = before?.type ?? "Pending";
  if (isTerminal(state.type)) turn.rows.countEnded(run.flow, task.name, { ...task, state }, 1);
  turn.rows.countTask(run.flow, from, state.type);
  if (from !== state.type) run.taskCounts = movedCounts(run.taskCounts, from, state.type);
  turn.rows.touchTask(task);
  const event = TASK_EVENTS[Object.hasOwn(TASK_EVENTS, state.name) ? state.name : state.type];
  if (event) turn.events.ofTask(event, run, task, state);
}

/** Built without `delete`, after which V8 keeps an object as a slower hash table. */
function movedCounts(counts: Run["taskCounts"], from: StateType, to: StateType): Run["taskCounts"] {
  const moved: Partial<Record<StateType, number>> = {};
  for (const type of Object.keys(counts) as StateType[]) {
    const count = (counts[type] ?? 0) - (type === from ? 1 : 0);
    if (count > 0) moved[type] = count;
  }
  moved[to] = (moved[to] ?? 0) + 1;
  return moved;
}

/**
 * Ends the unfinished task runs of a run that the server ended, because the engine no longer can. A crash records no events
 * for task runs, only the run's event.
 */
export function endTasks(turn: Turn, run: Run, type: "Cancelled" | "Crashed", message: string): void {
  for (const task of run.tasks.values()) {
    if (task.state !== null && isTerminal(task.state.type)) continue;
    moveTask(turn, run, task, { type, name: type, timestamp: turn.nowUs, message, details: {} });
  }
}

/**
 * Decides the due fires: each is run, skipped or dropped, once. The fires, the runs that follow and `consumed_until` are one
 * decision, so a crash cannot cause a fire to be decided twice.
 *
 * A fire is missed when its time passed while the server was down, or more than a minute before it was processed (the machine
 * slept, the clock stepped). Missed fires follow the schedule's catch-up policy.
 */
import type { State } from "#protocol/records/state";
import type { Run } from "../../core/state/run.ts";
import type { Schedule } from "../../core/state/schedule.ts";
import type { Turn } from "../../core/turn.ts";
import { putScheduleRight } from "../../dispatcher/clock/clock-repair.ts";
import { type EndedAtOnce, overlapOutcome } from "../../dispatcher/creation/overlap.ts";
import { enqueue } from "../../dispatcher/hand-out/hand-out.ts";
import { moveRun } from "../../dispatcher/states/move-run.ts";
import { endDisableWindow } from "../schedules/resume-schedule.ts";
import { scheduleEvent } from "../schedules/schedule-row.ts";
import { chooseCaughtUp, dueFires } from "./catch-up.ts";
import { isHeldBySchedule, isStarted, prune } from "./held-runs.ts";
import { complete, createFireRun, extend, isLaidOut, putOff } from "./look-ahead.ts";

/** Completing a look-ahead, or creating a run, costs as much as deciding this many fires with existing runs. */
const LAID_OUT_COST = 5;
/** A fire processed this late counts as missed; a busy server is delayed far less. */
const MISSED_AFTER_US = 60_000_000;

/**
 * Decides the due fires of a schedule. Unless too few runs are prepared, the look-ahead is completed when the schedule comes
 * up next, after the due fires of other schedules. Returns the cost: 1 is a fire whose run existed.
 */
export function decideFires(turn: Turn, schedule: Schedule): number {
  if (schedule.isAhead) {
    putScheduleRight(turn, schedule);
    return LAID_OUT_COST;
  }
  if (!schedule.active) return LAID_OUT_COST * (endPause(turn, schedule) + 1);
  const missedUntil = turn.nowUs - Math.min(turn.state.uptimeUs(), MISSED_AFTER_US);
  const fires = dueFires(schedule, turn.nowUs);
  if (fires.length === 0 && !hasOverdue(schedule)) {
    prune(turn, schedule);
    complete(turn, schedule);
    return LAID_OUT_COST;
  }
  const missed = fires.filter((fire) => fire <= missedUntil && !schedule.skips.has(fire) && !isStarted(schedule, fire));
  const kept = new Set(chooseCaughtUp(schedule, missed));
  const dropped = new Set(missed.filter((fire) => !kept.has(fire)));
  schedule.consumed_until = fires.at(-1) ?? schedule.consumed_until;
  // Held runs for times that the spec no longer produces belong to no fire.
  const overdue = [...schedule.runs].filter(([fire]) => fire <= schedule.consumed_until);
  for (const [fire] of overdue) if (!fires.includes(fire)) dropped.add(fire);
  for (const fire of union(fires, [...dropped])) decideFire(turn, schedule, fire, kept, dropped, missedUntil);
  if (missed.length > 0) {
    const counts = { missed: missed.length, created: kept.size, dropped: missed.length - kept.size };
    scheduleEvent(turn, schedule, "schedule.catchup", { policy: schedule.catchup, ...counts });
  }
  for (const fire of schedule.ended) if (fire <= schedule.consumed_until) schedule.ended.delete(fire);
  if (isLaidOut(schedule)) {
    putOff(turn, schedule);
    return fires.length;
  }
  prune(turn, schedule);
  extend(turn, schedule, false);
  return LAID_OUT_COST * (1 + fires.length);
}

/** Ends an expired pause; returns the number of schedules it resumed. */
function endPause(turn: Turn, schedule: Schedule): number {
  const { flow, paused_until } = schedule;
  if (paused_until === null || paused_until > turn.nowUs) {
    extend(turn, schedule, false);
    return 0;
  }
  endDisableWindow(turn, flow, paused_until);
  return turn.state.schedules.of(flow).length;
}

function hasOverdue({ runs, consumed_until }: Schedule): boolean {
  for (const fire of runs.keys()) if (fire <= consumed_until) return true;
  return false;
}

function union(fires: readonly number[], more: readonly number[]): number[] {
  return more.length === 0 ? [...fires] : [...new Set([...fires, ...more])].sort((a, b) => a - b);
}

function decideFire(
  turn: Turn,
  schedule: Schedule,
  fire: number,
  kept: ReadonlySet<number>,
  dropped: ReadonlySet<number>,
  missedUntil: number,
): void {
  const run = schedule.runs.get(fire);
  const skip = schedule.skips.get(fire);
  schedule.runs.delete(fire);
  if (skip !== undefined) {
    schedule.skips.delete(fire);
    turn.rows.put("delete_skip", { schedule_id: schedule.id, fire });
  }
  if (schedule.ended.has(fire) || (run !== undefined && !isHeldBySchedule(run))) return;
  if (skip !== undefined) {
    const end = skippedState(turn, "skipped by a person", "user");
    if (run !== undefined) moveRun(turn, run, end.state, end.extra);
    else if (skip.by !== "delete" && fire > missedUntil) createFireRun(turn, schedule, fire, "schedule", end);
    return;
  }
  if (dropped.has(fire)) {
    const end = skippedState(turn, "missed; dropped by the catch-up policy", "catchup");
    if (run !== undefined) moveRun(turn, run, end.state, end.extra);
    return;
  }
  const createdBy = kept.has(fire) ? "catchup" : "schedule";
  if (run === undefined) createFireRun(turn, schedule, fire, createdBy);
  else start(turn, run, createdBy);
}

function skippedState(turn: Turn, message: string, reason: string): EndedAtOnce {
  const state: State = { type: "Completed", name: "Skipped", timestamp: turn.nowUs, message, details: { reason } };
  return { state, extra: { reason } };
}

/** The time of a held run has come: the overlap policy of its flow applies now, not when the run was created. */
function start(turn: Turn, run: Run, createdBy: string): void {
  if (createdBy !== run.created_by) {
    run.created_by = createdBy;
    turn.rows.put("set_run_creator", { id: run.id, created_by: createdBy });
  }
  const overlap = overlapOutcome(run.flow, turn.nowUs);
  if (overlap === null) enqueue(turn, run);
  else moveRun(turn, run, overlap.state, overlap.extra);
}

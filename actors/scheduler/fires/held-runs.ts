/** Runs that their schedule holds: created ahead of their fires (look-ahead.ts), and not queued before. */

import type { Run } from "../../core/state/run.ts";
import type { Schedule } from "../../core/state/schedule.ts";
import type { Turn } from "../../core/turn.ts";
import { dropRun } from "../../dispatcher/states/drop-run.ts";
import { isFire } from "../recurrence/fires.ts";

/** True for a run held by its schedule. The rerun of a durable run goes on with what has begun, also after a step of the clock. */
export function isHeldBySchedule(run: Run): boolean {
  return run.place === "future" && run.state.type === "Scheduled" && run.durable === null;
}

/** The run of a fire has left the schedule before its time: started or ended, because a person moved it. */
export function isStarted(schedule: Schedule, fire: number): boolean {
  const run = schedule.runs.get(fire);
  return schedule.ended.has(fire) || (run !== undefined && !isHeldBySchedule(run));
}

/** Deletes held runs that the schedule no longer produces; all held runs while it is inactive. */
export function prune(turn: Turn, schedule: Schedule): void {
  for (const [fire, run] of [...schedule.runs]) {
    if (!isHeldBySchedule(run)) continue;
    if (schedule.active && isFire(schedule.fires, fire)) continue;
    schedule.runs.delete(fire);
    dropRun(turn, run);
  }
}

/** Deletes all held runs, so that the look-ahead creates them again. */
export function dropHeld(turn: Turn, schedule: Schedule): void {
  for (const [fire, run] of [...schedule.runs]) {
    if (!isHeldBySchedule(run)) continue;
    schedule.runs.delete(fire);
    dropRun(turn, run);
  }
}

/** Marks a held run as skipped or removes the mark; its state stays until its time. */
export function markRun(turn: Turn, run: Run, skipped: boolean): void {
  const { skip: _former, ...details } = run.state.details as Record<string, unknown>;
  run.state = { ...run.state, details: skipped ? { ...details, skip: "user" } : details };
  turn.rows.touchRun(run, true);
}

/** Pausing and resuming schedules, whoever asks for it. */

import { putOperation } from "#storage/ops";
import { enqueue } from "../dispatcher/hand-out.ts";
import type { Schedule } from "../live-state/schedule.ts";
import type { Turn } from "../turn.ts";
import { extend, isHeld, prune } from "./look-ahead.ts";
import { scheduleEvent } from "./schedule-row.ts";

/** Pauses a schedule and deletes its held runs; `until` for a disable window. Repeating it changes nothing. */
export function pauseSchedule(turn: Turn, schedule: Schedule, reason: string, until: number | null): void {
  if (!schedule.active && schedule.paused_reason === reason && schedule.paused_until === until) return;
  schedule.active = false;
  schedule.paused_reason = reason;
  schedule.paused_until = until;
  schedule.updated_at = turn.nowUs;
  prune(turn, schedule);
  extend(turn, schedule, true);
  scheduleEvent(turn, schedule, "schedule.paused", { reason });
}

/** Resumes a schedule; fires up to `from` (now) are not caught up. */
export function resumeSchedule(turn: Turn, schedule: Schedule, from = turn.nowUs): void {
  if (schedule.active) return;
  schedule.active = true;
  schedule.paused_reason = null;
  schedule.paused_until = null;
  schedule.updated_at = turn.nowUs;
  consumeUntil(turn, schedule, from);
  extend(turn, schedule, true);
  scheduleEvent(turn, schedule, "schedule.resumed", {});
}

/** Leaves the fires up to a moment behind, with their skips. A run that somebody set going under a paused schedule is due then. */
export function consumeUntil(turn: Turn, schedule: Schedule, us: number): void {
  schedule.consumed_until = Math.max(schedule.consumed_until, us);
  for (const [fire, run] of [...schedule.runs]) {
    if (fire > schedule.consumed_until) continue;
    schedule.runs.delete(fire);
    if (isHeld(run)) enqueue(turn, run);
  }
  for (const fire of schedule.ended) if (fire <= schedule.consumed_until) schedule.ended.delete(fire);
  for (const fire of schedule.skips.keys()) {
    if (fire > schedule.consumed_until) continue;
    schedule.skips.delete(fire);
    putOperation(turn.decision.ops, "delete_skip", schedule.id, fire);
  }
}

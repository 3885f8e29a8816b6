/** Pausing and resuming schedules, whoever asks for it. */
import type { Schedule } from "../live-state/schedule.ts";
import type { Turn } from "../turn.ts";
import { extend, prune } from "./look-ahead.ts";
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
  consumeUntil(schedule, from);
  extend(turn, schedule, true);
  scheduleEvent(turn, schedule, "schedule.resumed", {});
}

/** Leaves the fires up to a moment behind. */
export function consumeUntil(schedule: Schedule, us: number): void {
  schedule.consumed_until = Math.max(schedule.consumed_until, us);
  for (const fire of schedule.runs.keys()) if (fire <= schedule.consumed_until) schedule.runs.delete(fire);
  for (const fire of schedule.ended) if (fire <= schedule.consumed_until) schedule.ended.delete(fire);
}

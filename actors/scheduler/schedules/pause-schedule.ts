/** Pauses schedules, for every kind of caller. */
import type { Schedule } from "../../core/state/schedule.ts";
import type { Turn } from "../../core/turn.ts";
import { prune } from "../fires/held-runs.ts";
import { scheduleEvent, storeSchedule } from "./schedule-row.ts";

/** Pauses a schedule and deletes its held runs; `until` for a disable window. Repeated calls change nothing. */
export function pauseSchedule(turn: Turn, schedule: Schedule, reason: string, until: number | null): void {
  if (!schedule.active && schedule.paused_reason === reason && schedule.paused_until === until) return;
  schedule.active = false;
  schedule.paused_reason = reason;
  schedule.paused_until = until;
  schedule.updated_at = turn.nowUs;
  prune(turn, schedule);
  stopFires(turn, schedule);
  storeSchedule(turn, schedule, true);
  scheduleEvent(turn, schedule, "schedule.paused", { reason });
}

/** A paused schedule has no next fire; it is due when its pause ends. */
export function stopFires(turn: Turn, schedule: Schedule): void {
  schedule.next_fire = null;
  turn.state.schedules.setDue(schedule, schedule.paused_until);
}

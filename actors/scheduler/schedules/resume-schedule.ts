/** Resumes schedules, for every kind of caller. */

import type { Flow } from "../../core/state/flow.ts";
import type { Schedule } from "../../core/state/schedule.ts";
import type { Turn } from "../../core/turn.ts";
import { enqueue } from "../../dispatcher/hand-out/hand-out.ts";
import { flowEvent } from "../../records/flows/flow-events.ts";
import { isHeldBySchedule } from "../fires/held-runs.ts";
import { extend } from "../fires/look-ahead.ts";
import { scheduleEvent } from "./schedule-row.ts";

/** Resumes a schedule; fires up to `from` (default: now) are not caught up. */
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

/** A disable window (disable-window.ts) is over: its schedules resume; fires within the window are never caught up. */
export function endDisableWindow(turn: Turn, flow: Flow, until: number): void {
  const paused = turn.state.schedules.of(flow).filter((schedule) => schedule.paused_until === until && !schedule.active);
  for (const schedule of paused) resumeSchedule(turn, schedule, until);
  flowEvent(turn, flow, "flow.enabled", null, {});
}

/**
 * Passes all fires up to a moment without deciding them, and removes their skips. Held runs of these fires, revived while the
 * schedule was paused, are queued.
 */
export function consumeUntil(turn: Turn, schedule: Schedule, us: number): void {
  schedule.consumed_until = Math.max(schedule.consumed_until, us);
  for (const [fire, run] of [...schedule.runs]) {
    if (fire > schedule.consumed_until) continue;
    schedule.runs.delete(fire);
    if (isHeldBySchedule(run)) enqueue(turn, run);
  }
  for (const fire of schedule.ended) if (fire <= schedule.consumed_until) schedule.ended.delete(fire);
  for (const fire of schedule.skips.keys()) {
    if (fire > schedule.consumed_until) continue;
    schedule.skips.delete(fire);
    turn.rows.put("delete_skip", { schedule_id: schedule.id, fire });
  }
}

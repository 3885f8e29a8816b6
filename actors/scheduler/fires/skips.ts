/**
 * Fires that a person skips: stored by schedule and time, so that they survive restarts, pauses, and edits that keep the
 * time.
 */
import { type Refusal, refuse } from "#protocol/errors";
import { SKIP_AHEAD_FIRES_MAX } from "#protocol/limits";
import type { DownstreamSkip, SkipBody } from "#protocol/records/schedule";
import type { Flow } from "../../core/state/flow.ts";
import type { Run } from "../../core/state/run.ts";
import type { Schedule } from "../../core/state/schedule.ts";
import type { Turn } from "../../core/turn.ts";
import { isFire } from "../recurrence/fires.ts";
import { scheduleEvent } from "../schedules/schedule-row.ts";
import { isHeldBySchedule, isStarted, markRun } from "./held-runs.ts";
import { extend } from "./look-ahead.ts";

export function isoTime(us: number): string {
  const text = new Date(us / 1000).toISOString();
  return us % 1_000_000 === 0 ? text.replace(".000Z", "Z") : text;
}

/** The fires of a request, or the reason for a refusal: either all of them are skipped or none. */
export function chooseFires(turn: Turn, schedule: Schedule, body: SkipBody): number[] | Refusal {
  const by = body.by ?? "api";
  if (by !== "ui" && by !== "api") return refuse("invalid", `by must be ui or api, not ${by}`);
  const ahead = schedule.fires.after(Math.max(turn.nowUs, schedule.consumed_until), SKIP_AHEAD_FIRES_MAX);
  if (body.next != null) {
    if (body.next < 1) return refuse("invalid", "next must be at least 1");
    const open = ahead.filter((fire) => !schedule.skips.has(fire) && !isStarted(schedule, fire));
    if (open.length >= body.next) return open.slice(0, body.next);
    return refuse("invalid", `only ${open.length} of the next ${SKIP_AHEAD_FIRES_MAX} fires can still be skipped`);
  }
  if (body.fires == null || body.fires.length === 0) return refuse("invalid", "name the fires to skip, or pass next");
  const known = new Set(ahead);
  for (const fire of body.fires) {
    if (known.has(fire) && !isStarted(schedule, fire)) continue;
    if (known.has(fire)) return refuse("invalid", `the run of ${isoTime(fire)} has started or ended already`);
    if (fire <= turn.nowUs || fire <= schedule.consumed_until) return refuse("invalid", `${isoTime(fire)} has passed`);
    const why = isFire(schedule.fires, fire)
      ? `is more than ${SKIP_AHEAD_FIRES_MAX} fires ahead`
      : "is not a fire of this schedule";
    return refuse("invalid", `${isoTime(fire)} ${why}`);
  }
  return [...new Set(body.fires)].sort((a, b) => a - b);
}

/** Skips fires; an existing skip stays unchanged. */
export function addSkips(turn: Turn, schedule: Schedule, fires: readonly number[], by: string): void {
  for (const fire of fires) {
    if (schedule.skips.has(fire)) continue;
    schedule.skips.set(fire, { by, at: turn.nowUs });
    turn.rows.put("put_skip", { schedule_id: schedule.id, fire, skipped_by: by, skipped_at: turn.nowUs });
    const run = schedule.runs.get(fire);
    if (run !== undefined && isHeldBySchedule(run)) markRun(turn, run, true);
  }
  extend(turn, schedule, true);
}

/** Removes a skip. */
export function removeSkip(turn: Turn, schedule: Schedule, fire: number): void {
  schedule.skips.delete(fire);
  turn.rows.put("delete_skip", { schedule_id: schedule.id, fire });
  const run = schedule.runs.get(fire);
  if (run !== undefined && isHeldBySchedule(run)) markRun(turn, run, false);
  extend(turn, schedule, true);
}

/** Drops skips of fires that the schedule no longer produces, and records an event. */
export function dropSkips(turn: Turn, schedule: Schedule): void {
  const dropped = [...schedule.skips.keys()].filter((fire) => !isFire(schedule.fires, fire)).sort((a, b) => a - b);
  if (dropped.length === 0) return;
  for (const fire of dropped) {
    schedule.skips.delete(fire);
    turn.rows.put("delete_skip", { schedule_id: schedule.id, fire });
  }
  scheduleEvent(turn, schedule, "schedule.skips_dropped", { dropped });
}

/** The downstream flows whose runs will also be created as Skipped. */
export function downstreamSkips(turn: Turn, schedule: Schedule, fires: readonly number[]): DownstreamSkip[] {
  const reached = new Set<Flow>([schedule.flow]);
  for (const flow of reached) for (const next of turn.state.downstreamOf(flow)) if (next.error === null) reached.add(next);
  reached.delete(schedule.flow);
  return [...reached].map(({ name, project }) => ({ flow: name, project, fires: [...fires] }));
}

/** Deleting the run of a future fire skips the fire, which then gets no other run. */
export function skipDeletedFire(turn: Turn, schedule: Schedule, run: Run): void {
  const fire = run.scheduled_time;
  if (fire === null || fire <= schedule.consumed_until) return;
  schedule.runs.delete(fire);
  schedule.ended.delete(fire);
  schedule.skips.set(fire, { by: "delete", at: turn.nowUs });
  turn.rows.put("put_skip", { schedule_id: schedule.id, fire, skipped_by: "delete", skipped_at: turn.nowUs });
  extend(turn, schedule, true);
}

/** Schedules from the store: their rows, skips, and the runs of future fires. */
import type { Schedule as Sent } from "#protocol/records/schedule";
import { parseJson } from "#protocol/values/json";
import type { JsonMap } from "#protocol/values/scalar";
import type { LoadedStore, ScheduleRow } from "#storage/load/load";
import type { LiveState } from "../core/state/live-state.ts";
import type { Schedule } from "../core/state/schedule.ts";
import { readSpec } from "../scheduler/recurrence/spec.ts";

/** Earlier than any clock time. */
const AT_ONCE = 0;

export function loadSchedules(state: LiveState, stored: Pick<LoadedStore, "schedules" | "skips" | "ended_fires">): void {
  for (const row of stored.schedules) {
    const schedule = toSchedule(state, row);
    if (schedule !== null) state.schedules.add(schedule);
  }
  for (const { schedule_id, fire, skipped_by, skipped_at } of stored.skips) {
    state.schedules.get(schedule_id)?.skips.set(fire, { by: skipped_by, at: skipped_at });
  }
  for (const { schedule_id, fire } of stored.ended_fires) state.schedules.get(schedule_id)?.ended.add(fire);
  for (const run of state.runs.values()) {
    if (!state.schedules.holds(run) || run.schedule_id === null || run.scheduled_time === null) continue;
    state.schedules.get(run.schedule_id)?.runs.set(run.scheduled_time, run);
  }
  // Check each schedule at once: decide missed fires and complete the look-ahead.
  for (const { id } of stored.schedules) {
    const schedule = state.schedules.get(id);
    if (schedule !== undefined) state.schedules.setDue(schedule, AT_ONCE);
  }
}

/** Null for a row that this version cannot read: the schedule does not fire, and the row stays. */
function toSchedule(state: LiveState, row: ScheduleRow): Schedule | null {
  const flow = state.flows.get(row.flow_id);
  const read = readSpec(JSON.parse(row.schedule) as Sent, {
    timezone: state.settings.timezone,
    anchorUs: row.created_at,
  });
  if (flow === undefined || !read.ok) return null;
  const { id, external_id, catchup_max, paused_reason, paused_until, source, code_key, created_at, updated_at } = row;
  return {
    id,
    external_id,
    flow,
    ...read.ready,
    catchup: row.catchup,
    catchup_max,
    parameters: row.parameters === null ? null : (parseJson(row.parameters) as JsonMap),
    active: row.active === 1,
    paused_reason,
    paused_until,
    source,
    code_key,
    persist: row.persist === 1,
    created_at,
    updated_at,
    next_fire: row.next_fire,
    consumed_until: row.consumed_until,
    isAhead: false,
    skips: new Map(),
    runs: new Map(),
    ended: new Set(),
    dueUs: null,
  };
}

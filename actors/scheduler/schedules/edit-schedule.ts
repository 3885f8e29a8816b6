/** Creates, changes and deletes schedules, for every kind of caller. */

import { CATCHUP_COUNT_DEFAULT, SCHEDULE_INTERVAL_SECONDS_MIN } from "#protocol/limits";
import type { ScheduleBody, SchedulePatchBody, Schedule as Sent } from "#protocol/records/schedule";
import { canonicalJson } from "#protocol/values/json";
import type { JsonMap } from "#protocol/values/scalar";
import type { Flow } from "../../core/state/flow.ts";
import type { Schedule } from "../../core/state/schedule.ts";
import type { Turn } from "../../core/turn.ts";
import { decideFires } from "../fires/decide-fires.ts";
import { dropHeld, prune } from "../fires/held-runs.ts";
import { extend } from "../fires/look-ahead.ts";
import { dropSkips } from "../fires/skips.ts";
import { type CheckedSpec, type ReadySpec, readSpec, type StoredSpec } from "../recurrence/spec.ts";
import { consumeUntil } from "./resume-schedule.ts";

/** Who declares a schedule: a person, an MCP client or code. */
export interface Origin {
  source: "ui" | "mcp" | "code";
  codeKey: string | null;
  persist: boolean;
}

/**
 * Checks a newly sent spec. `timezone`: for schedules that name none. `stored`: the replaced spec, whose interval may stay
 * even if it is below the limit.
 */
export function checkSpec(
  turn: Turn,
  sent: Sent,
  timezone = turn.state.settings.timezone,
  stored: StoredSpec | null = null,
): CheckedSpec {
  const checked = readSpec(sent, { timezone, anchorUs: turn.nowUs });
  if (!checked.ok || sent.kind !== "interval" || sent.interval >= SCHEDULE_INTERVAL_SECONDS_MIN) return checked;
  if (stored?.kind === "interval" && stored.interval === sent.interval) return checked;
  return { ok: false, error: `interval must be at least ${SCHEDULE_INTERVAL_SECONDS_MIN} s (SCHEDULE_INTERVAL_SECONDS_MIN)` };
}

/** Adds a schedule to a flow; earlier times do not fire. */
export function addSchedule(turn: Turn, flow: Flow, sent: ScheduleBody, ready: ReadySpec, origin: Origin): Schedule {
  const { state, nowUs } = turn;
  const schedule: Schedule = {
    id: state.nextIds.schedule,
    external_id: turn.ids.uuid(),
    flow,
    ...ready,
    catchup: sent.catchup ?? "skip",
    catchup_max: sent.catchup_max ?? CATCHUP_COUNT_DEFAULT,
    parameters: sentParameters(sent.parameters),
    active: sent.active ?? true,
    paused_reason: null,
    paused_until: null,
    source: origin.source,
    code_key: origin.codeKey,
    persist: origin.persist,
    created_at: nowUs,
    updated_at: nowUs,
    next_fire: null,
    consumed_until: nowUs,
    isAhead: false,
    skips: new Map(),
    runs: new Map(),
    ended: new Set(),
    dueUs: null,
  };
  state.nextIds.schedule += 1;
  state.schedules.add(schedule);
  extend(turn, schedule, true);
  return schedule;
}

/**
 * Replaces a schedule's spec: runs and skips of fires that the new spec also produces stay. Fires already due are decided by
 * the former spec.
 */
export function changeSpec(turn: Turn, schedule: Schedule, ready: ReadySpec): void {
  if (schedule.active && (schedule.dueUs ?? turn.nowUs) <= turn.nowUs) decideFires(turn, schedule);
  schedule.spec = ready.spec;
  schedule.fires = ready.fires;
  // Past times of the new spec were never its fires.
  consumeUntil(turn, schedule, turn.nowUs);
  dropSkips(turn, schedule);
}

/** Parameters as they are kept: an empty map is none. */
export function sentParameters(sent: JsonMap | null | undefined): JsonMap | null {
  return sent == null || Object.keys(sent).length === 0 ? null : sent;
}

/** Replaces the parameters: held runs are created again with the new ones. Fires already due are decided with the former ones. */
export function changeParameters(turn: Turn, schedule: Schedule, parameters: JsonMap | null): void {
  if (canonicalJson(parameters) === canonicalJson(schedule.parameters)) return;
  if (schedule.active && (schedule.dueUs ?? turn.nowUs) <= turn.nowUs) decideFires(turn, schedule);
  schedule.parameters = parameters;
  dropHeld(turn, schedule);
}

/** Rebuilds the look-ahead after a change. */
export function rebuild(turn: Turn, schedule: Schedule): void {
  schedule.updated_at = turn.nowUs;
  prune(turn, schedule);
  extend(turn, schedule, true);
}

/** Deletes a schedule with its held runs and skips; queued runs stay. */
export function removeSchedule(turn: Turn, schedule: Schedule): void {
  schedule.active = false;
  prune(turn, schedule);
  turn.state.schedules.remove(schedule);
  turn.rows.put("delete_skips", { schedule_id: schedule.id });
  turn.rows.put("delete_schedule", { id: schedule.id });
  turn.stream.add("schedule.deleted", schedule.id);
}

/**
 * The spec after an edit, or null if the edit does not change it. A field of another kind changes the kind; a cron schedule
 * keeps its zone, and a new expression resets `day_or` to its default.
 */
export function editedSpec(turn: Turn, spec: StoredSpec, body: SchedulePatchBody): Sent | null {
  const { cron, rrule, interval, anchor, timezone, day_or } = body;
  if (cron != null) {
    const kept = spec.kind === "cron" ? spec.timezone : null;
    return { kind: "cron", cron, timezone: timezone ?? kept, day_or: day_or ?? true };
  }
  if (rrule != null) return { kind: "rrule", rrule, timezone: timezone ?? null };
  if (interval != null && spec.kind !== "interval") {
    return { kind: "interval", interval, anchor: anchor ?? turn.nowUs, timezone: timezone ?? null };
  }
  switch (spec.kind) {
    case "cron":
      if (timezone == null && day_or == null) return null;
      return { ...spec, timezone: timezone ?? spec.timezone, day_or: day_or ?? spec.day_or };
    case "interval":
      if (timezone == null && interval == null && anchor == null) return null;
      return { ...spec, timezone: timezone ?? spec.timezone, interval: interval ?? spec.interval, anchor: anchor ?? spec.anchor };
    case "rrule":
      return timezone == null ? null : { ...spec, timezone };
  }
}

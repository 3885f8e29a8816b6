/** A schedule as a row: its stored form, its record, and its events. */
import type { ScheduleRow } from "#protocol/records/schedule";
import { canonicalJson } from "#protocol/values/json";
import { flowKey } from "../../core/state/flow.ts";
import type { Schedule } from "../../core/state/schedule.ts";
import type { Turn } from "../../core/turn.ts";

/** Writes the row; `announce` sends a stream message. */
export function storeSchedule(turn: Turn, schedule: Schedule, announce: boolean): void {
  const { id, external_id, flow, spec, catchup, catchup_max, active, paused_reason, paused_until } = schedule;
  const { source, code_key, persist, created_at, updated_at, next_fire, consumed_until, parameters } = schedule;
  turn.rows.put("put_schedule", {
    id,
    external_id,
    flow_id: flow.id,
    schedule: JSON.stringify(spec),
    catchup,
    catchup_max,
    active: active ? 1 : 0,
    paused_reason,
    paused_until,
    source,
    code_key,
    persist: persist ? 1 : 0,
    created_at,
    updated_at,
    next_fire,
    consumed_until,
    parameters: parameters === null ? null : canonicalJson(parameters),
  });
  if (announce) turn.stream.add("schedule.updated", id);
}

/** The schedule's record, with fields in the order of the store's rendering. */
export function scheduleRow(turn: Turn, schedule: Schedule): ScheduleRow {
  const { id, external_id, flow, spec, catchup, catchup_max, active, paused_reason, paused_until } = schedule;
  const { source, code_key, persist, created_at, updated_at, next_fire, parameters } = schedule;
  const skipped = [...schedule.skips.keys()].filter((fire) => fire > turn.nowUs).length;
  const standing = { catchup, catchup_max, active, paused_reason, paused_until, source, code_key, persist };
  return {
    ...{ id, external_id, flow_id: flow.id, schedule: spec, ...standing, created_at, updated_at, next_fire, skipped },
    ...(parameters !== null && { parameters }),
  } as ScheduleRow;
}

/** Records an event about a schedule, related to its flow. */
export function scheduleEvent(turn: Turn, schedule: Schedule, name: string, payload: Record<string, unknown>): void {
  const { flow, spec } = schedule;
  const shown = spec.kind === "cron" ? spec.cron : spec.kind === "interval" ? `every ${spec.interval} s` : spec.rrule;
  turn.events.given({
    name,
    run: null,
    flow_id: flow.id,
    resource: { id: schedule.external_id, kind: "schedule", name: shown },
    related: [{ id: flowKey(flow.project, flow.name), kind: "flow", name: flow.name }],
    payload: { schedule_id: schedule.id, ...payload },
  });
}

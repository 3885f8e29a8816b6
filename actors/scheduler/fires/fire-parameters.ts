/**
 * The parameters of a fire's run: those of its schedule, whose texts may be templates of the fire, and the defaults of the flow.
 *
 * They are rendered here, not by a reader thread like the templates of rules: the run of a fire exists before its time, so that
 * rendering delays no fire, and the work for one run is bounded to about a millisecond.
 */
import { SCHEDULE_PARAMETERS_BYTES_MAX, SCHEDULE_WORK_MAX } from "#protocol/limits";
import { canonicalJson } from "#protocol/values/json";
import { exceedsBytes } from "#protocol/values/json-size";
import { parameterDefaults } from "#protocol/values/parameters";
import type { JsonMap } from "#protocol/values/scalar";
import { Budget } from "#storage/templates/budget";
import { renderDeep } from "#storage/templates/render";
import { TemplateFailure } from "#storage/templates/values";
import type { Flow } from "../../core/state/flow.ts";
import type { Schedule } from "../../core/state/schedule.ts";
import { acceptParameters } from "../../dispatcher/creation/sent-run.ts";
import { civilDate, DAY_US, dayOf, weekday } from "../recurrence/calendar.ts";
import type { ReadySpec } from "../recurrence/spec.ts";
import { findZone } from "../recurrence/zone.ts";

export type FireParameters = { ok: true; text: string } | { ok: false; error: string };

/** What a fire uses of its flow. */
export type FlowOfFire = Pick<Flow, "name" | "project" | "parameter_schema">;

type Source = Pick<Schedule, "spec" | "parameters" | "code_key"> & { flow: FlowOfFire };

/** The parameters of the run of a fire, as canonical JSON text; or why there are none. */
export function fireParameters({ flow, spec, parameters, code_key }: Source, fire: number): FireParameters {
  if (parameters === null) return { ok: true, text: canonicalJson(parameterDefaults(flow.parameter_schema)) };
  const values = {
    fire: fireValues(fire, spec.timezone),
    schedule: { key: code_key },
    flow: { name: flow.name, project: flow.project },
  };
  try {
    const rendered = renderDeep("parameters", parameters, values, new Budget(SCHEDULE_WORK_MAX)) as JsonMap;
    const accepted = acceptParameters(flow.parameter_schema, rendered);
    return typeof accepted === "string" ? { ok: true, text: accepted } : { ok: false, error: accepted.message };
  } catch (cause) {
    if (!(cause instanceof TemplateFailure)) throw cause;
    return { ok: false, error: cause.message };
  }
}

/** Why the parameters of a new or changed schedule cannot be used, as far as its next fire shows; null if they can. */
export function parametersError(
  { nowUs }: { nowUs: number },
  flow: FlowOfFire,
  { spec, fires }: ReadySpec,
  parameters: JsonMap | null,
  code_key: string | null,
): string | null {
  if (parameters === null) return null;
  if (exceedsBytes(canonicalJson(parameters), SCHEDULE_PARAMETERS_BYTES_MAX))
    return `parameters of a schedule have at most ${SCHEDULE_PARAMETERS_BYTES_MAX} bytes as JSON text`;
  const rendered = fireParameters({ flow, spec, parameters, code_key }, fires.after(nowUs, 1)[0] ?? nowUs);
  return rendered.ok ? null : rendered.error;
}

/** What templates can use of a fire, by the clock of the schedule's zone. */
function fireValues(us: number, timezone: string): Record<string, string | number> {
  const zone = findZone(timezone);
  const wallUs = zone === null ? us : zone.wallAt(us);
  const days = dayOf(wallUs);
  const { year, month, day } = civilDate(days);
  const date = dateText(days);
  const time = new Date(wallUs / 1000).toISOString().slice(11, 19);
  return {
    ...{ date, time, year, month, day },
    hour: Number(time.slice(0, 2)),
    minute: Number(time.slice(3, 5)),
    // Monday is 1, as in ISO 8601.
    weekday: weekday(days) === 0 ? 7 : weekday(days),
    yesterday: dateText(days - 1),
    datetime: `${date}T${time}${offsetText(wallUs - us)}`,
    utc: new Date(us / 1000).toISOString(),
    timestamp: us,
    timezone,
  };
}

function dateText(days: number): string {
  return new Date((days * DAY_US) / 1000).toISOString().slice(0, 10);
}

function offsetText(offsetUs: number): string {
  const minutes = Math.round(Math.abs(offsetUs) / 60_000_000);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0"));
  return `${offsetUs < 0 ? "-" : "+"}${hours}:${rest}`;
}

/** Replaces a schedule as a whole: its id, and the runs and skips of fires that the new one produces too, stay. */
import { CATCHUP_COUNT_DEFAULT } from "#protocol/limits";
import type { ScheduleBody } from "#protocol/records/schedule";
import { canonicalJson } from "#protocol/values/json";
import type { Schedule } from "../../core/state/schedule.ts";
import type { Turn } from "../../core/turn.ts";
import type { ReadySpec } from "../recurrence/spec.ts";
import { changeParameters, changeSpec, rebuild, sentParameters } from "./edit-schedule.ts";
import { pauseSchedule } from "./pause-schedule.ts";
import { resumeSchedule } from "./resume-schedule.ts";

/** An interval without an anchor keeps its first anchor, so that the same body means the same fires. */
export function withKeptAnchor(body: ScheduleBody, known: Schedule | undefined): ScheduleBody {
  if (body.kind !== "interval" || body.anchor != null || known?.spec.kind !== "interval") return body;
  return { ...body, anchor: known.spec.anchor };
}

/** `active` and `persist` stay as they are unless the body has them. */
export function replaceSchedule(turn: Turn, schedule: Schedule, body: ScheduleBody, ready: ReadySpec): void {
  const parameters = sentParameters(body.parameters);
  const wanted = {
    catchup: body.catchup ?? "skip",
    catchup_max: body.catchup_max ?? CATCHUP_COUNT_DEFAULT,
    persist: body.persist ?? schedule.persist,
  };
  const { catchup, catchup_max, persist } = schedule;
  const sameSpec = JSON.stringify(ready.spec) === JSON.stringify(schedule.spec);
  const after = canonicalJson([wanted, parameters]);
  const before = canonicalJson([{ catchup, catchup_max, persist }, schedule.parameters]);
  if (!sameSpec || after !== before) {
    if (!sameSpec) changeSpec(turn, schedule, ready);
    changeParameters(turn, schedule, parameters);
    Object.assign(schedule, wanted);
    rebuild(turn, schedule);
  }
  if (body.active === true) resumeSchedule(turn, schedule);
  if (body.active === false) pauseSchedule(turn, schedule, "paused", null);
}

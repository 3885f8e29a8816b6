/**
 * The look-ahead: runs of future fires, so that people see what will happen and can skip it.
 *
 * A run of the look-ahead is held by its schedule: it is not queued before the schedule has decided its fire. The run that
 * replaces a started one is created shortly before the fire, so that nothing has to be created at the fire itself.
 */
import type { Run } from "../../core/state/run.ts";
import type { Schedule } from "../../core/state/schedule.ts";
import type { Turn } from "../../core/turn.ts";
import { createRun } from "../../dispatcher/creation/create-run.ts";
import type { EndedAtOnce } from "../../dispatcher/creation/overlap.ts";
import { stopFires } from "../schedules/pause-schedule.ts";
import { storeSchedule } from "../schedules/schedule-row.ts";
import { type FireParameters, fireParameters } from "./fire-parameters.ts";
import { isHeldBySchedule } from "./held-runs.ts";

/** Minimum of prepared runs that will start. */
const AHEAD_COUNT_MIN = 3;
/** This long before a fire, the look-ahead is completed to its size after the fire. */
const PREPARE_US = 5_000_000;
/** The last prepared run is at least this far ahead. */
const AHEAD_US_MIN = 3_600_000_000;
/** Maximum of fires considered: a schedule that fires every second is not prepared for hours. */
const AHEAD_FIRES_MAX = 100;

/** Completes the look-ahead, sets when the schedule is due next, and stores the schedule. */
export function extend(turn: Turn, schedule: Schedule, announce: boolean): void {
  if (schedule.active) layOut(turn, schedule);
  else stopFires(turn, schedule);
  storeSchedule(turn, schedule, announce);
}

/** Like extend, but stores only a changed look-ahead. */
export function complete(turn: Turn, schedule: Schedule): void {
  const before = schedule.next_fire;
  layOut(turn, schedule);
  if (schedule.next_fire !== before) storeSchedule(turn, schedule, false);
}

/** Whether enough runs exist to complete the look-ahead later. */
export function isLaidOut({ runs, skips }: Schedule): boolean {
  let starting = 0;
  for (const [fire, run] of runs) if (!skips.has(fire) && isHeldBySchedule(run)) starting += 1;
  return starting >= AHEAD_COUNT_MIN;
}

/** Stores the decided fires; the look-ahead is due right after this step, after the fires that are due now. */
export function putOff(turn: Turn, schedule: Schedule): void {
  const { fires, skips, consumed_until } = schedule;
  schedule.next_fire = fires.after(consumed_until, skips.size + 1).find((fire) => !skips.has(fire)) ?? null;
  turn.state.schedules.setDue(schedule, turn.nowUs + 1);
  storeSchedule(turn, schedule, false);
}

function layOut(turn: Turn, schedule: Schedule): void {
  const { skips, runs, ended } = schedule;
  const fires = schedule.fires.after(schedule.consumed_until, AHEAD_FIRES_MAX + skips.size + 1);
  const first = fires[0] ?? null;
  const isNear = first !== null && first <= turn.nowUs + PREPARE_US;
  const wanted = isNear && first > turn.nowUs && !skips.has(first) ? AHEAD_COUNT_MIN + 1 : AHEAD_COUNT_MIN;
  // Twice the time, so that a fire processed slightly late still needs no new run.
  const untilUs = turn.nowUs + AHEAD_US_MIN + (isNear ? 2 * PREPARE_US : 0);
  let starting = 0;
  let reachedUs = 0;
  let renders = true;
  for (const fire of fires.slice(0, AHEAD_FIRES_MAX)) {
    if (starting >= wanted && reachedUs >= untilUs) break;
    // A due fire is decided, not prepared.
    if (fire <= turn.nowUs) continue;
    reachedUs = fire;
    const skip = skips.get(fire);
    // Without room, the run is created when its fire is decided.
    const isMissing = !runs.has(fire) && !ended.has(fire) && skip?.by !== "delete" && turn.state.room.hasFor(1);
    const parameters: FireParameters | null = isMissing && renders ? fireParameters(schedule, fire) : null;
    // The run whose parameters fail is created, as Failed, when its fire is decided.
    renders = parameters?.ok ?? renders;
    if (parameters?.ok === true) createFireRun(turn, schedule, fire, "schedule", undefined, parameters);
    const run = runs.get(fire);
    if (skip === undefined && run !== undefined && isHeldBySchedule(run)) starting += 1;
  }
  schedule.next_fire = fires.find((fire) => !skips.has(fire)) ?? null;
  turn.state.schedules.setDue(schedule, first === null || isNear ? first : first - PREPARE_US);
}

/** Creates the run of a fire. `outcome`: the state in which the run ends at creation. */
export function createFireRun(
  turn: Turn,
  schedule: Schedule,
  fire: number,
  createdBy: string,
  outcome?: EndedAtOnce,
  parameters = fireParameters(schedule, fire),
): Run {
  const { flow, skips, runs } = schedule;
  const end = outcome ?? (parameters.ok ? undefined : failedParameters(turn, parameters.error));
  const skipped = skips.has(fire);
  const run = createRun(turn, flow, {
    name: nameOfFire(turn, schedule, fire),
    parametersText: parameters.ok ? parameters.text : "{}",
    tags: [],
    createdBy,
    scheduledTime: fire,
    scheduleId: schedule.id,
    details: skipped ? { skip: "user" } : {},
    ...(end === undefined ? {} : { outcome: end }),
  });
  if (fire > schedule.consumed_until) runs.set(fire, run);
  return run;
}

/** The flow or the fire does not go with the parameters any more: the schedule was checked by its next fire when it was made. */
function failedParameters(turn: Turn, error: string): EndedAtOnce {
  const message = `the parameters of the schedule cannot be used: ${error}`;
  const details = { reason: "schedule_parameters" };
  return { state: { type: "Failed", name: "Failed", timestamp: turn.nowUs, message, details }, extra: null };
}

/** `<flow>-<time of the fire>`; if two schedules of a flow fire at the same time, the schedule's id is appended. */
function nameOfFire(turn: Turn, schedule: Schedule, fire: number): string {
  const { flow } = schedule;
  const time = new Date(fire / 1000)
    .toISOString()
    .replace(/\.\d+Z$/, "")
    .replace(/[-:]/g, "");
  const isTaken = turn.state.schedules.hasOtherRun(schedule, fire);
  return isTaken ? `${flow.name}-${time}-${schedule.id}` : `${flow.name}-${time}`;
}

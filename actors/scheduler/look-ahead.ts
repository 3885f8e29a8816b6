/**
 * The look-ahead: runs of fires that are still to come, so that people see what will happen and can skip it.
 *
 * A run of the look-ahead is held by its schedule: it is not in the queue before the schedule has decided its fire. The run that
 * takes the place of a started one is laid out shortly before the fire, so that at the fire itself nothing is left to create.
 */
import { canonicalJson } from "#protocol/json";
import { parameterDefaults } from "#protocol/parameters";
import { createRun, type EndedAtOnce } from "../dispatcher/create-run.ts";
import { dropRun } from "../dispatcher/delete-commands.ts";
import type { Run } from "../live-state/run.ts";
import type { Schedule } from "../live-state/schedule.ts";
import type { Turn } from "../turn.ts";
import { isFire } from "./fires.ts";
import { storeSchedule } from "./schedule-row.ts";

/** Runs that will start, at least. */
const AHEAD_COUNT_MIN = 3;
/** This long before a fire the look-ahead is completed as it is to be after it. */
const PREPARE_US = 5_000_000;
/** The last of them is at least this far away. */
const AHEAD_US_MIN = 3_600_000_000;
/** Fires looked at: a schedule of every second is not laid out for hours. */
const AHEAD_FIRES_MAX = 100;

/** A run that waits for its schedule. */
export function isHeld(run: Run): boolean {
  return run.place === "future" && run.state.type === "Scheduled";
}

/** Completes the look-ahead, says when the schedule is due next, and stores it. */
export function extend(turn: Turn, schedule: Schedule, announce: boolean): void {
  if (schedule.active) layOut(turn, schedule);
  else {
    schedule.next_fire = null;
    turn.state.schedules.setDue(schedule, schedule.paused_until);
  }
  storeSchedule(turn, schedule, announce);
}

/** As extend, for a look-ahead that may be complete: then there is nothing to store. */
export function complete(turn: Turn, schedule: Schedule): void {
  const before = schedule.next_fire;
  layOut(turn, schedule);
  if (schedule.next_fire !== before) storeSchedule(turn, schedule, false);
}

/** Whether enough runs are there to leave the look-ahead for later. */
export function isLaidOut({ runs, skips }: Schedule): boolean {
  let starting = 0;
  for (const [fire, run] of runs) if (!skips.has(fire) && isHeld(run)) starting += 1;
  return starting >= AHEAD_COUNT_MIN;
}

/** Stores what is decided; the look-ahead is due right after this step, behind the fires that are due now. */
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
  // Twice the time, so that a fire that is looked at a little late finds nothing to lay out.
  const untilUs = turn.nowUs + AHEAD_US_MIN + (isNear ? 2 * PREPARE_US : 0);
  let starting = 0;
  let reachedUs = 0;
  for (const fire of fires.slice(0, AHEAD_FIRES_MAX)) {
    if (starting >= wanted && reachedUs >= untilUs) break;
    // A fire that is due is decided, not laid out.
    if (fire <= turn.nowUs) continue;
    reachedUs = fire;
    const skip = skips.get(fire);
    // Where there is no room for it yet, its run is created when the fire is decided.
    const isMissing = !runs.has(fire) && !ended.has(fire) && skip?.by !== "delete" && turn.state.room.hasFor(1);
    if (isMissing) createFireRun(turn, schedule, fire, "schedule");
    const run = runs.get(fire);
    if (skip === undefined && run !== undefined && isHeld(run)) starting += 1;
  }
  schedule.next_fire = fires.find((fire) => !skips.has(fire)) ?? null;
  turn.state.schedules.setDue(schedule, first === null || isNear ? first : first - PREPARE_US);
}

/** The run of a fire. `outcome`: the state it ends in at once. */
export function createFireRun(turn: Turn, schedule: Schedule, fire: number, createdBy: string, outcome?: EndedAtOnce): Run {
  const { flow, skips, runs } = schedule;
  const skipped = skips.has(fire);
  const run = createRun(turn, flow, {
    name: nameOfFire(turn, schedule, fire),
    parametersText: canonicalJson(parameterDefaults(flow.parameter_schema)),
    tags: [],
    createdBy,
    scheduledTime: fire,
    scheduleId: schedule.id,
    details: skipped ? { skip: "user" } : {},
    ...(outcome === undefined ? {} : { outcome }),
  });
  if (fire > schedule.consumed_until) runs.set(fire, run);
  return run;
}

/** `<flow>-<time of the fire>`; two schedules of a flow that fire at once are told apart by the schedule's id. */
function nameOfFire(turn: Turn, schedule: Schedule, fire: number): string {
  const { flow } = schedule;
  const time = new Date(fire / 1000)
    .toISOString()
    .replace(/\.\d+Z$/, "")
    .replace(/[-:]/g, "");
  const isTaken = turn.state.schedules.hasOtherRun(schedule, fire);
  return isTaken ? `${flow.name}-${time}-${schedule.id}` : `${flow.name}-${time}`;
}

/** Deletes the held runs that the schedule no longer produces; all of them while it is inactive. */
export function prune(turn: Turn, schedule: Schedule): void {
  for (const [fire, run] of [...schedule.runs]) {
    if (!isHeld(run)) continue;
    if (schedule.active && isFire(schedule.fires, fire)) continue;
    schedule.runs.delete(fire);
    dropRun(turn, run);
  }
}

/** Marks a held run as skipped or takes the mark off; its state stays as it is until its time. */
export function markRun(turn: Turn, run: Run, skipped: boolean): void {
  const { skip: _former, ...details } = run.state.details as Record<string, unknown>;
  run.state = { ...run.state, details: skipped ? { ...details, skip: "user" } : details };
  turn.touchRun(run, true);
}

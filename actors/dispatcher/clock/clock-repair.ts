/**
 * Repairs decisions made while the wall clock was ahead: schedules with decided fires in the future, and rules whose clocks
 * ticked then. They are silent until that time has come, unless a person accepts the clock: then they continue from now.
 */

import type { State } from "#protocol/records/state";
import type { Command } from "#protocol/wire/command";
import { STEP_MIN_US } from "../../core/state/clock-watch.ts";
import type { Rule } from "../../core/state/rule.ts";
import { isEnded, type Run } from "../../core/state/run.ts";
import type { Schedule } from "../../core/state/schedule.ts";
import type { Turn } from "../../core/turn.ts";
import { EXPECTATION_TIMER } from "../../names.ts";
import { storeRule } from "../../rule-engine/rules/rule-rows.ts";
import { isHeldBySchedule, prune } from "../../scheduler/fires/held-runs.ts";
import { extend } from "../../scheduler/fires/look-ahead.ts";
import { requeue } from "../hand-out/hand-out.ts";
import { dropRun } from "../states/drop-run.ts";
import { forceRun } from "../states/move-run.ts";

/**
 * Schedules with decided fires more than an hour ahead. Only a wrong clock causes that: no command decides a fire in advance.
 */
export function schedulesAhead({ state, nowUs }: Turn): Schedule[] {
  return state.schedules.all().filter(({ consumed_until }) => consumed_until > nowUs + STEP_MIN_US);
}

/** Rules whose last tick or creation is more than an hour ahead. */
export function rulesAhead({ state, nowUs }: Turn): Rule[] {
  const rules = [...state.rules.rules.values()].filter(({ enabled, spec }) => enabled && spec.at !== null);
  return rules.filter((rule) => Math.max(rule.guards.tick ?? 0, rule.since_time) > nowUs + STEP_MIN_US);
}

/** POST /api/clock/accept. Schedules are corrected one by one, when they come due behind other due fires. */
export function acceptClockCommand(turn: Turn, command: Command): void {
  const { schedules, clock } = turn.state;
  clock.accept(turn);
  const ahead = schedulesAhead(turn);
  for (const schedule of ahead) {
    schedule.isAhead = true;
    schedules.setDue(schedule, turn.nowUs);
  }
  const rules = rulesAhead(turn);
  for (const rule of rules) putRuleRight(turn, rule);
  turn.answers.json(command, 200, { schedules: ahead.length, rules: rules.length });
}

/**
 * Lets the schedule continue from now. Fires whose runs have started do not start again; fires dropped by catch-up are
 * scheduled again.
 */
export function putScheduleRight(turn: Turn, schedule: Schedule): void {
  const { state, nowUs } = turn;
  schedule.isAhead = false;
  if (schedule.consumed_until <= nowUs) return;
  const aheadUs = schedule.updated_at - nowUs;
  if (schedule.paused_until !== null && aheadUs > STEP_MIN_US) schedule.paused_until -= aheadUs;
  schedule.updated_at = Math.min(schedule.updated_at, nowUs);
  dropHeld(turn, schedule);
  schedule.consumed_until = nowUs;
  for (const id of runsOfFiresAfter(turn, schedule, nowUs)) {
    const run = state.findRun(id);
    const fire = run?.scheduled_time ?? null;
    if (run === undefined || fire === null) continue;
    if (isDroppedFire(run)) forceRun(turn, run, waitingAgain(nowUs));
    else if (!isEnded(run)) {
      schedule.runs.set(fire, run);
      // A run that no engine has taken waits for its time again.
      requeue(turn, [run], () => undefined);
    } else if (!schedule.runs.has(fire)) schedule.ended.add(fire);
  }
  // While the schedule is paused, a fire that is scheduled again must not be a run yet.
  prune(turn, schedule);
  extend(turn, schedule, true);
}

/** Committed runs come from the store; runs that are possibly not yet committed, ended or not, are in memory. */
function runsOfFiresAfter({ state }: Turn, { id }: Schedule, us: number): ReadonlySet<number> {
  const found = new Set(state.reader.runsOfFiresAfter(id, us));
  for (const run of [...state.runs.values(), ...state.endedRuns()]) {
    if (run.schedule_id === id && (run.scheduled_time ?? 0) > us) found.add(run.id);
  }
  return found;
}

/** Drops runs that were created in advance for times that are now far ahead. */
function dropHeld(turn: Turn, schedule: Schedule): void {
  for (const [fire, run] of [...schedule.runs]) {
    if (!isHeldBySchedule(run)) continue;
    schedule.runs.delete(fire);
    dropRun(turn, run);
  }
}

function isDroppedFire({ state, start_time }: Run): boolean {
  return state.name === "Skipped" && state.details["reason"] === "catchup" && start_time === null;
}

function waitingAgain(timestamp: number): State {
  const message = "the clock was ahead when it was dropped";
  return { type: "Scheduled", name: "Scheduled", timestamp, message, details: { forced: true } };
}

function putRuleRight(turn: Turn, rule: Rule): void {
  if (rule.guards.tick !== undefined && rule.guards.tick > turn.nowUs) {
    rule.guards.tick = turn.nowUs;
    turn.rows.put("put_guards", { rule_id: rule.id, state: JSON.stringify(rule.guards) });
  }
  rule.since_time = Math.min(rule.since_time, turn.nowUs);
  storeRule(turn, rule);
  turn.out.send(EXPECTATION_TIMER, { kind: "Rearm" });
}

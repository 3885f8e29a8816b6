/**
 * What was decided while the wall clock was ahead of the truth: schedules that decided fires which are still to come, and rules whose
 * clocks ticked then. They are silent until their time has come, unless the clock is accepted: then they go on from now.
 */
import type { Command } from "#protocol/command";
import type { State } from "#protocol/state";
import { putOperation } from "#storage/ops";
import { dropRun } from "../dispatcher/delete-commands.ts";
import { requeue } from "../dispatcher/hand-out.ts";
import { moveRun } from "../dispatcher/moves.ts";
import { isEnded, type Run } from "../live-state/run.ts";
import type { Schedule } from "../live-state/schedule.ts";
import { EXPECTATIONS } from "../names.ts";
import type { Rule } from "../rules/rule.ts";
import { storeRule } from "../rules/rule-rows.ts";
import { extend, isHeld, prune } from "../scheduler/look-ahead.ts";
import type { Turn } from "../turn.ts";
import { STEP_MIN_US } from "./watch.ts";

/** Schedules that have decided fires more than an hour ahead. A clock is the only way to that: no command decides a fire ahead. */
export function schedulesAhead({ state, nowUs }: Turn): Schedule[] {
  return state.schedules.all().filter(({ consumed_until }) => consumed_until > nowUs + STEP_MIN_US);
}

/** Rules whose clock is decided, or which were made, more than an hour ahead. */
export function rulesAhead({ state, nowUs }: Turn): Rule[] {
  const rules = [...state.rules.rules.values()].filter(({ enabled, spec }) => enabled && spec.at !== null);
  return rules.filter((rule) => Math.max(rule.guards.tick ?? 0, rule.since_time) > nowUs + STEP_MIN_US);
}

/** POST /api/clock/accept. Schedules are put right one by one, as they come up behind the fires that are due. */
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
  turn.replyJson(command, 200, { schedules: ahead.length, rules: rules.length });
}

/** The schedule goes on from now. Fires whose runs have started do not start again; those that catch-up dropped are to come. */
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
    if (isDroppedFire(run)) moveRun(turn, run, waitingAgain(nowUs));
    else if (!isEnded(run)) {
      schedule.runs.set(fire, run);
      // One that nobody has taken yet waits for its time again.
      requeue(turn, [run], () => undefined);
    } else if (!schedule.runs.has(fire)) schedule.ended.add(fire);
  }
  // A fire that is to come again is no run yet where the schedule is paused.
  prune(turn, schedule);
  extend(turn, schedule, true);
}

/** Ended runs are in the store, and what is on its way there in memory. */
function runsOfFiresAfter({ state }: Turn, { id }: Schedule, us: number): ReadonlySet<number> {
  const found = new Set(state.reader.runsOfFiresAfter(id, us));
  for (const run of state.runs.values()) if (run.schedule_id === id && (run.scheduled_time ?? 0) > us) found.add(run.id);
  return found;
}

/** Runs that were laid out for times that are far again. */
function dropHeld(turn: Turn, schedule: Schedule): void {
  for (const [fire, run] of [...schedule.runs]) {
    if (!isHeld(run)) continue;
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
    putOperation(turn.decision.ops, "put_guards", rule.id, JSON.stringify(rule.guards));
  }
  rule.since_time = Math.min(rule.since_time, turn.nowUs);
  storeRule(turn, rule);
  turn.out.send(EXPECTATIONS, { kind: "Rearm" });
}

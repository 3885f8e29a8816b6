/**
 * GET /api/flows/{id}/upcoming: the runs of the look-ahead, and later fires, which are only computed. GET
 * /api/schedules/fires.
 */

import { FIRES_TOTAL_MAX, PROJECTED_FIRES_MAX, UPCOMING_RUNS_MAX } from "#protocol/limits";
import type { ScheduleFires } from "#protocol/records/schedule-calendar";
import type { Command } from "#protocol/wire/command";
import { type Run, renderRun } from "../../core/state/run.ts";
import type { Schedule } from "../../core/state/schedule.ts";
import type { Turn } from "../../core/turn.ts";
import { hourlyAfter } from "../recurrence/fires.ts";
import { isHeldBySchedule } from "./held-runs.ts";

interface Item {
  fire: number;
  schedule: Schedule;
  /** Null for a fire without a run. */
  run: Run | null;
}

export function listUpcoming(turn: Turn, command: Command<"ListUpcoming">): void {
  const { projected } = command.body;
  const flow = turn.state.flows.get(command.target);
  const schedules = flow === undefined ? [] : turn.state.schedules.of(flow).filter((schedule) => schedule.active);
  const runs = schedules.flatMap((schedule) => heldRuns(schedule)).sort(inOrder);
  const fires = schedules.flatMap((schedule) => projectedFires(turn, schedule, Math.min(projected, PROJECTED_FIRES_MAX)));
  const items = [...runs.slice(0, UPCOMING_RUNS_MAX), ...fires].sort(inOrder);
  turn.answers.text(command, 200, `[${items.map((item) => renderItem(turn, item)).join(",")}]`);
}

function inOrder(a: Item, b: Item): number {
  return a.fire - b.fire || a.schedule.id - b.schedule.id;
}

function heldRuns(schedule: Schedule): Item[] {
  return [...schedule.runs].flatMap(([fire, run]) => (isHeldBySchedule(run) ? [{ fire, schedule, run }] : []));
}

function projectedFires(turn: Turn, schedule: Schedule, count: number): Item[] {
  const { runs, ended, consumed_until } = schedule;
  const ahead = schedule.fires.after(Math.max(consumed_until, turn.nowUs), count + runs.size + ended.size);
  const open = ahead.filter((fire) => !runs.has(fire) && !ended.has(fire));
  return open.slice(0, count).map((fire) => ({ fire, schedule, run: null }));
}

function renderItem(turn: Turn, { fire, schedule, run }: Item): string {
  const skip = schedule.skips.get(fire);
  const marks = { skipped: skip !== undefined, skipped_by: skip?.by ?? null, skipped_at: skip?.at ?? null };
  if (run === null) return JSON.stringify({ schedule_id: schedule.id, scheduled_time: fire, ...marks, projected: true });
  const text = renderRun(run, turn.state.textsOf(run));
  return `${text.slice(0, -1)},${JSON.stringify({ ...marks, projected: false }).slice(1)}`;
}

/** The future fires of all active schedules, or of one schedule if active; fires that a person skipped are marked. */
export function listFires(turn: Turn, command: Command<"ListFires">): void {
  const { before = Number.MAX_SAFE_INTEGER, schedule_id, limit } = command.body;
  const asked = ({ id, active }: Schedule) => active && (schedule_id === undefined || id === schedule_id);
  const schedules = turn.state.schedules.all().filter(asked);
  const count = Math.max(1, Math.min(limit, Math.floor(FIRES_TOTAL_MAX / Math.max(1, schedules.length))));
  const listed = schedules.map((schedule): ScheduleFires => {
    const ahead = schedule.fires.after(turn.nowUs, count + 1).filter((fire) => fire < before);
    const fires = ahead.slice(0, count);
    const skipped = fires.flatMap((fire) => {
      const skip = schedule.skips.get(fire);
      return skip === undefined ? [] : [{ fire, ...skip }];
    });
    const { id, flow } = schedule;
    const more = ahead.length > count;
    const last = fires.at(-1);
    return {
      schedule_id: id,
      flow_id: flow.id,
      project: flow.project,
      flow: flow.name,
      fires,
      more,
      skipped,
      ...(more && last !== undefined && { more_hours: hourlyAfter(schedule.fires, last, before, count) }),
    };
  });
  turn.answers.text(command, 200, JSON.stringify(listed));
}

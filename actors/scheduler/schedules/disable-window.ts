/**
 * Disable windows (`disable_after`): when a flow fails too often within a period, its schedules are paused for a while.
 * Failures are counted in memory; a started window is stored with the schedules.
 */
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { SCHEDULER } from "../../names.ts";
import { flowEvent } from "../../records/flows/flow-events.ts";
import { pauseSchedule } from "./pause-schedule.ts";

const DISABLED = "disabled";

/** Records a failed run of a flow; one failure too many pauses the flow's schedules. */
export function noteFailure(turn: Turn, run: Run): void {
  const { flow } = run;
  const { disableAfter } = flow.options;
  if (disableAfter === null) return;
  const [count, windowSeconds, pauseSeconds] = disableAfter;
  const { schedules } = turn.state;
  const recent = (schedules.failures.get(flow.id) ?? []).filter((us) => us > turn.nowUs - windowSeconds * 1e6);
  recent.push(turn.nowUs);
  schedules.failures.set(flow.id, recent);
  const active = schedules.of(flow).filter((schedule) => schedule.active);
  if (recent.length < count || active.length === 0) return;
  schedules.failures.delete(flow.id);
  const until = Math.round(turn.nowUs + pauseSeconds * 1e6);
  for (const schedule of active) pauseSchedule(turn, schedule, DISABLED, until);
  flowEvent(turn, flow, "flow.disabled", run, { failures: recent.length, until, window_seconds: windowSeconds });
  turn.out.send(SCHEDULER, { kind: "SchedulesChanged" });
}

/**
 * Disable windows (`disable_after`): a flow that fails too often within a time has its schedules paused for a while.
 * Failures are counted in memory; a window that has begun is stored with the schedules.
 */
import { type Flow, flowKey } from "../live-state/flow.ts";
import type { Run } from "../live-state/run.ts";
import { SCHEDULER } from "../names.ts";
import type { Turn } from "../turn.ts";
import { pauseSchedule, resumeSchedule } from "./standing.ts";

const DISABLED = "disabled";

/** Notes a failed run of a flow; the failure that is one too many pauses the schedules. */
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
  const { project } = flow;
  flowEvent(turn, flow, "flow.disabled", run, {
    failures: recent.length,
    project,
    state: run.state.name,
    until,
    window_seconds: windowSeconds,
  });
  turn.out.send(SCHEDULER, { kind: "SchedulesChanged" });
}

/** The window is over: the schedules it paused go on; fires inside it are never caught up. */
export function endDisableWindow(turn: Turn, flow: Flow, until: number): void {
  const paused = turn.state.schedules.of(flow).filter((schedule) => schedule.paused_until === until && !schedule.active);
  for (const schedule of paused) resumeSchedule(turn, schedule, until);
  flowEvent(turn, flow, "flow.enabled", null, { project: flow.project });
}

function flowEvent(turn: Turn, flow: Flow, name: string, run: Run | null, payload: Record<string, unknown>): void {
  turn.givenEvent(null, {
    name,
    run_id: run?.id ?? null,
    flow_id: flow.id,
    resource: { id: flowKey(flow.project, flow.name), kind: "flow", name: flow.name },
    related: run === null ? [] : [{ id: run.external_id, kind: "run", name: run.name }],
    payload,
  });
}

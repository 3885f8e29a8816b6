/** The order of runs by activity, as on the server: running, waiting, ended, future. */
import type { Run } from "#protocol/records/run";

export type Phase = "started" | "waiting" | "ended" | "coming";

const PHASES: readonly Phase[] = ["started", "waiting", "ended", "coming"];

export function phaseOf({ state, start_time, end_time, scheduled_time }: Run): Phase {
  if (end_time !== null && end_time !== undefined) return "ended";
  if (start_time !== null && start_time !== undefined) return "started";
  const waitsForTime = state.type === "Scheduled" && state.name === "Scheduled";
  return waitsForTime && scheduled_time !== null && scheduled_time !== undefined ? "coming" : "waiting";
}

/** Newest first, but of future runs the next one first. */
export function compareActivity(a: Run, b: Run): number {
  const phase = phaseOf(a);
  const between = PHASES.indexOf(phase) - PHASES.indexOf(phaseOf(b));
  if (between !== 0) return between;
  if (phase === "coming") return (a.scheduled_time ?? 0) - (b.scheduled_time ?? 0) || a.id - b.id;
  if (phase === "started") return (b.start_time ?? 0) - (a.start_time ?? 0) || b.id - a.id;
  return (phase === "ended" ? (b.end_time ?? 0) - (a.end_time ?? 0) : 0) || b.id - a.id;
}

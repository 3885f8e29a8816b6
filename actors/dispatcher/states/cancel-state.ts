/** The state into which a cancel moves a run. */
import type { State, StateType } from "#protocol/records/state";
import { isEnded, type Run } from "../../core/state/run.ts";

/** Cancelling in user code, else Cancelled; null for a run that has ended or is being cancelled. */
export function cancelState(run: Run, nowUs: number, message: string | null): State | null {
  if (isEnded(run) || run.state.type === "Cancelling") return null;
  return plainState(run.state.type === "Running" && run.assigned ? "Cancelling" : "Cancelled", nowUs, message);
}

export function plainState(type: StateType, timestamp: number, message: string | null): State {
  return { type, name: type, timestamp, message, details: {} };
}

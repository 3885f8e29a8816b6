/**
 * The overlap policy of a flow: the state of a new run while max_concurrent runs are handed out. Runs that only wait do not
 * count as overlapping.
 */
import type { State } from "#protocol/records/state";
import type { Flow } from "../../core/state/flow.ts";

const MESSAGE = "previous run still active";

/** A state in which a run ends at creation, and the extra payload of its event. */
export interface EndedAtOnce {
  state: State;
  extra: Record<string, unknown> | null;
}

/** The state in which a new run ends at creation, or null if it is queued. */
export function overlapOutcome(flow: Flow, nowUs: number): EndedAtOnce | null {
  const { maxConcurrent, onOverlap } = flow.options;
  if (maxConcurrent <= 0 || onOverlap === "enqueue" || flow.handedOut + flow.away < maxConcurrent) return null;
  const end = { timestamp: nowUs, message: MESSAGE, details: {} };
  if (onOverlap === "skip") return { state: { type: "Completed", name: "Skipped", ...end }, extra: { reason: MESSAGE } };
  return { state: { type: "Cancelled", name: "Cancelled", ...end }, extra: null };
}

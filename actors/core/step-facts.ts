/** What every part of a step (turn.ts) needs to know about it. */
import type { Decision } from "#storage/write/batch";
import type { LiveState } from "./state/live-state.ts";

export interface StepFacts {
  readonly state: LiveState;
  readonly nowUs: number;
  /** Time of receipt of what this step decides. Ages are computed from it, so it is never earlier than the true time. */
  readonly receivedUs: number;
  /** Number of this step, to recognise when its decision is committed. */
  readonly number: number;
  /** What the step wants stored and sent. */
  readonly decision: Decision;
}

/** The ways a run's execution ends, and the state that records each. */
import type { State } from "#protocol/records/state";
import type { Park } from "../durable/durable-run.ts";
import type { FailureRecord } from "../execution/failure.ts";
import type { Question } from "../run/questions.ts";
import type { ParkItem } from "./reporter.ts";

/** How the execution of a run ends, where the engine decides it. */
export type Ending =
  | { kind: "completed"; details: Record<string, unknown> }
  | { kind: "failed"; failure: FailureRecord }
  | { kind: "paused"; question: Question }
  /** The run leaves the engine until one of its waits has settled; for a failed attempt until its retry is due. */
  | { kind: "parked"; park: Park; retry?: NonNullable<ParkItem["retry"]> }
  | { kind: "cancelled" }
  | { kind: "timed-out"; seconds: number }
  | { kind: "crashed"; cause: string; details: Record<string, unknown> }
  /** The run was deleted or taken away: no state to report. */
  | { kind: "gone" };

/** The state that records an ending; null if there is none to record. The server gives a parked run its state. */
export function stateOf(ending: Ending, timestamp: number): State | null {
  switch (ending.kind) {
    case "completed":
      return { type: "Completed", name: "Completed", timestamp, message: null, details: ending.details };
    case "failed": {
      const { message, traceback, exception } = ending.failure;
      return { type: "Failed", name: "Failed", timestamp, message, details: { traceback, exception } };
    }
    case "paused":
      return { type: "Paused", name: "Paused", timestamp, message: ending.question.prompt, details: { ...ending.question } };
    case "cancelled":
      return { type: "Cancelled", name: "Cancelled", timestamp, message: "cancelled", details: {} };
    case "timed-out":
      return { type: "Failed", name: "TimedOut", timestamp, message: `timed out after ${ending.seconds} s`, details: {} };
    case "crashed":
      return { type: "Crashed", name: "Crashed", timestamp, message: ending.cause, details: ending.details };
    case "parked":
    case "gone":
      return null;
    default:
      return ending satisfies never;
  }
}

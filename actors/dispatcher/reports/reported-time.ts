/**
 * Times from engines' clocks. They are stored as reported if the store and every client can represent them, else replaced by
 * the time of receipt: rejecting a report for its time would lose the run's work.
 */

import { INTEGER_MAX } from "#protocol/limits";
import type { ReportEvent } from "#protocol/records/engine";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { addWarning, appendLogs, type LogsByRun } from "./run-log.ts";

/** From the Unix epoch to the year 2255, the limit of exact integers in microseconds. */
export function isStorableTime(us: unknown): us is number {
  return typeof us === "number" && us >= 0 && us <= INTEGER_MAX;
}

/** Replaces times of an event that cannot be represented by `receivedUs`; returns their number. */
export function replaceUnstorableTimes(event: ReportEvent, receivedUs: number): number {
  switch (event.kind) {
    case "task_run_transition":
    case "run_transition":
      if (isStorableTime(event.state.timestamp)) return 0;
      event.state.timestamp = receivedUs;
      return 1;
    case "park":
      if (isStorableTime(event.timestamp)) return 0;
      event.timestamp = receivedUs;
      return 1;
    case "logs": {
      const wrong = event.logs.filter(({ timestamp }) => !isStorableTime(timestamp));
      for (const line of wrong) line.timestamp = receivedUs;
      return wrong.length;
    }
    default:
      return 0;
  }
}

/** Warns in the run's log that times of its engine were replaced. */
export function warnOfTimes(turn: Turn, run: Run, logs: LogsByRun, count: number): void {
  const which = count === 1 ? "a time of its engine lies" : `${count} times of its engine lie`;
  addWarning(
    turn,
    run,
    logs,
    `${which} before 1970 or after 2255; the time of receipt stands instead. Is the engine's clock set?`,
  );
}

/**
 * The time of a move by the engine's clock, or the time of receipt, with a warning in the run's log, if that cannot be
 * represented.
 */
export function timeOfMove(turn: Turn, run: Run, sentUs: number): number {
  if (isStorableTime(sentUs)) return sentUs;
  const logs: LogsByRun = new Map();
  warnOfTimes(turn, run, logs, 1);
  appendLogs(turn, logs);
  return turn.nowUs;
}

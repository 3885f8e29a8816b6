import type { RetryOptions } from "../define/retry.ts";
import type { ActiveRun } from "./active-run.ts";
import type { FailureRecord } from "./failure.ts";
import { writeLog } from "./run-log.ts";

/** Adds the line of a failed attempt to the run's log: its number, the start of the next attempt, and the cause. */
export function logFailedAttempt(
  run: ActiveRun,
  taskRunId: string | null,
  { retries = 0 }: RetryOptions,
  attempt: number,
  delaySeconds: number | null,
  { message, traceback }: FailureRecord,
): void {
  const which = `attempt ${attempt} of ${retries + 1} failed`;
  if (delaySeconds === null) {
    const next = attempt <= retries ? ", and there is no other" : "";
    return writeLog(run, taskRunId, 40, "millrace.run", `${which}${next}: ${message}`);
  }
  // The last state has the traceback of the last attempt; those of earlier attempts are only in the log.
  const reason = traceback.startsWith(message) ? traceback : `${message}\n${traceback}`;
  writeLog(run, taskRunId, 30, "millrace.run", `${which}, the next begins in ${secondsText(delaySeconds)}: ${reason}`);
}

function secondsText(seconds: number): string {
  return `${Number(seconds.toFixed(seconds < 10 ? 2 : 0))} s`;
}

/** Lines of a run's log, whoever writes them: the run's code or its output. */
import type { ActiveRun } from "./active-run.ts";

/** Longest log line in characters; longer ones are truncated, so that one line cannot fill a report. */
export const LINE_CHARS_MAX = 256_000;

/** Adds one line to a run's log. */
export function writeLog(run: ActiveRun, taskRunId: string | null, level: number, logger: string, message: string): void {
  if (run.ended) return;
  const shown = run.secrets.mask(message);
  const text = shown.length > LINE_CHARS_MAX ? `${shown.slice(0, LINE_CHARS_MAX)}… (${shown.length} characters)` : shown;
  run.report({
    kind: "logs",
    logs: [
      {
        run_id: run.id,
        task_run_id: null,
        task_run_external_id: taskRunId,
        level,
        logger,
        timestamp: run.clock.nowUs(),
        message: text,
      },
    ],
  });
}

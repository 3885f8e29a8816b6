import { formatWithOptions } from "node:util";
import { type ActiveRun, currentScope } from "./active-run.ts";

/** Levels over the wire. */
const LEVEL = { debug: 10, info: 20, warning: 30, error: 40 } as const;

/** Longest log line in characters; longer ones are truncated, so that one line cannot fill a report. */
export const LINE_CHARS_MAX = 256_000;

/** Depth to which objects are written out. */
const FORMAT = { depth: 6, colors: false } as const;

/**
 * Log lines of the current run or task run. Arguments are as for console.log: a first text with placeholders, objects written
 * out. Outside a run the lines go to the console.
 */
export interface Log {
  debug(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warning(...values: unknown[]): void;
  error(...values: unknown[]): void;
}

export const log: Log = {
  debug: (...values) => write("debug", values),
  info: (...values) => write("info", values),
  warning: (...values) => write("warning", values),
  error: (...values) => write("error", values),
};

/** Adds one line to a run's log. */
export function writeLog(run: ActiveRun, taskRunId: string | null, level: number, logger: string, message: string): void {
  if (run.ended) return;
  const text = message.length > LINE_CHARS_MAX ? `${message.slice(0, LINE_CHARS_MAX)}… (${message.length} characters)` : message;
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

/** The text of console-like arguments. */
export function formatValues(values: unknown[]): string {
  return formatWithOptions(FORMAT, ...values);
}

function write(level: keyof typeof LEVEL, values: unknown[]): void {
  const scope = currentScope();
  if (scope === undefined) {
    console[level === "warning" ? "warn" : level](...values);
    return;
  }
  writeLog(scope.run, scope.task?.externalId ?? null, LEVEL[level], "millrace.run", formatValues(values));
}

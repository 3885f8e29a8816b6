import { formatWithOptions } from "node:util";
import { currentScope } from "../execution/active-run.ts";
import { writeLog } from "../execution/run-log.ts";

/** Levels over the wire. */
const LEVEL = { debug: 10, info: 20, warning: 30, error: 40 } as const;

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

import { formatWithOptions } from "node:util";
import { currentScope } from "../execution/active-run.ts";
import { describeFailure } from "../execution/failure.ts";
import { writeLog } from "../execution/run-log.ts";
import { fieldsText, type LogFields, noMask } from "./log-fields.ts";

/** Levels over the wire. */
const LEVEL = { debug: 10, info: 20, warning: 30, error: 40 } as const;

/** Depth to which objects are written out. */
const FORMAT = { depth: 6, colors: false } as const;

/**
 * Log lines of the current run or task run. Arguments are as for console.log: a first text with placeholders, objects written
 * out. Outside a run the lines go to the console.
 */
export interface Log {
  /** A line of level debug (10). */
  debug(...values: unknown[]): void;
  /** A line of level info (20). */
  info(...values: unknown[]): void;
  /** A line of level warning (30). */
  warning(...values: unknown[]): void;
  /** The same as `warning`: the name that the console has. */
  warn(...values: unknown[]): void;
  /** A line of level error (40). */
  error(...values: unknown[]): void;
  /** A log whose lines end with these fields as `key=value`: `log.with({ day, rows }).info("loaded")`. */
  with(fields: LogFields): Log;
}

/**
 * Writes lines to the log of the current run or task run; outside a run to the console.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, log } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const load = flow("load", async () => {
 *   log.info("read %d rows", 3);
 *   log.with({ day: "2026-01-01", rows: 3 }).warning("late file");
 * });
 *
 * const { messages } = await runFlow(load);
 * assert.deepEqual(messages, ["read 3 rows", "late file day=2026-01-01 rows=3"]);
 * ```
 */
export const log: Log = logWith({});

function logWith(fields: LogFields): Log {
  return {
    debug: (...values) => write("debug", values, fields),
    info: (...values) => write("info", values, fields),
    warning: (...values) => write("warning", values, fields),
    warn: (...values) => write("warning", values, fields),
    error: (...values) => write("error", values, fields),
    with: (more) => logWith({ ...fields, ...more }),
  };
}

/** The text of console-like arguments. A value whose own code fails while it is written out does not fail the run. */
export function formatValues(values: unknown[]): string {
  try {
    return formatWithOptions(FORMAT, ...values);
  } catch {
    return values.map(formatValue).join(" ");
  }
}

function formatValue(value: unknown): string {
  try {
    return formatWithOptions(FORMAT, value);
  } catch (error) {
    return `[cannot be shown: ${describeFailure(error).message}]`;
  }
}

function write(level: keyof typeof LEVEL, values: unknown[], fields: LogFields): void {
  const scope = currentScope();
  if (scope === undefined) {
    const text = fieldsText(fields, noMask);
    console[level === "warning" ? "warn" : level](...(text === "" ? values : [formatValues(values) + text]));
    return;
  }
  const text = formatValues(values) + fieldsText(fields, (each) => scope.run.secrets.mask(each));
  writeLog(scope.run, scope.task?.externalId ?? null, LEVEL[level], "millrace.run", text);
}

import { type InspectOptions, inspect } from "node:util";
import { currentScope } from "../execution/active-run.ts";
import { writeLog } from "../execution/run-log.ts";
import { formatValues } from "../run/log.ts";

/** The console methods that print, with the level of their log lines. */
const PRINTING = { debug: 10, log: 20, info: 20, warn: 30, error: 40 } as const;

const CAPTURED = Symbol.for("millrace.console");

/**
 * After this call, console.log and its siblings add a line to the run's log instead of printing, inside a run whose flow has
 * `logPrints` on (the default). Elsewhere they print as before.
 */
export function captureConsole(): void {
  const target = console as Console & { [CAPTURED]?: true };
  if (target[CAPTURED] === true) return;
  target[CAPTURED] = true;
  for (const [method, level] of Object.entries(PRINTING) as [keyof typeof PRINTING, number][]) {
    const print = console[method].bind(console);
    console[method] = (...values: unknown[]) => {
      const scope = currentScope();
      if (scope?.run.logPrints !== true) print(...values);
      else writeLog(scope.run, scope.task?.externalId ?? null, level, "millrace.print", formatValues(values));
    };
  }
  const dir = console.dir.bind(console);
  console.dir = (value?: unknown, options?: InspectOptions) => {
    const scope = currentScope();
    if (scope?.run.logPrints !== true) return dir(value, options);
    const text = inspect(value, { customInspect: false, ...options });
    writeLog(scope.run, scope.task?.externalId ?? null, PRINTING.log, "millrace.print", text);
  };
}

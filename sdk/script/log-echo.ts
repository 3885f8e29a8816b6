import { shared } from "../execution/shared-state.ts";

/** Log lines of a run, printed where its script runs. */

const WARNING = 30;
const LEVELS = [
  [40, "ERROR"],
  [WARNING, "WARNING"],
  [20, "INFO"],
] as const;

/** Logger names of printed output. */
const PRINTED = ["millrace.print", "millrace.stdout", "millrace.stderr"];

/** Output written to a standard stream: in the process of the run it has already been printed. */
export function isStreamLine({ logger }: { logger: string }): boolean {
  return logger === "millrace.stdout" || logger === "millrace.stderr";
}

/** Printed output goes to its original stream, other lines to standard error with their level. */
export function echoLine(line: { level: number; logger: string; message: string }): void {
  // Inside the run's scope the echo would be captured as output of the run.
  shared.scope.exit(() => echo(line));
}

function echo({ level, logger, message }: { level: number; logger: string; message: string }): void {
  if (!PRINTED.includes(logger)) process.stderr.write(`${levelName(level)} ${message}\n`);
  else if (level >= WARNING) process.stderr.write(`${message}\n`);
  else process.stdout.write(`${message}\n`);
}

function levelName(level: number): string {
  return LEVELS.find(([least]) => level >= least)?.[1] ?? "DEBUG";
}

import { shared } from "../shared-state.ts";

/** Log lines of a run, shown where its script runs. */

const WARNING = 30;
const LEVELS = [
  [40, "ERROR"],
  [WARNING, "WARNING"],
  [20, "INFO"],
] as const;

/** What was printed, by the log's name for its source. */
const PRINTED = ["millrace.print", "millrace.stdout", "millrace.stderr"];

/** What was written to a standard stream: in the process of the run it is there already. */
export function isStreamLine({ logger }: { logger: string }): boolean {
  return logger === "millrace.stdout" || logger === "millrace.stderr";
}

/** What was printed goes where it would have gone, the other lines to standard error with their level. */
export function echoLine(line: { level: number; logger: string; message: string }): void {
  // Inside the run it would be taken for something that the run prints.
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

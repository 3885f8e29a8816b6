/** Log lines of a run, shown where its script runs. */

const WARNING = 30;
const LEVELS = [
  [40, "ERROR"],
  [WARNING, "WARNING"],
  [20, "INFO"],
] as const;

/** Lines of console.log and its kin go where they would have gone, the others to standard error with their level. */
export function echoLine({ level, logger, message }: { level: number; logger: string; message: string }): void {
  if (logger !== "millrace.print") process.stderr.write(`${levelName(level)} ${message}\n`);
  else if (level >= WARNING) process.stderr.write(`${message}\n`);
  else process.stdout.write(`${message}\n`);
}

function levelName(level: number): string {
  return LEVELS.find(([least]) => level >= least)?.[1] ?? "DEBUG";
}

/** A kind of load test: what the first word of the command line selects. */
import type { CommandLine } from "./command-line.ts";
import type { Progress } from "./progress.ts";
import type { Goal } from "./report/goal.ts";
import type { Part } from "./report/report.ts";

export interface MeasureContext {
  /** The command line that measures this, for the report. */
  command: string;
  progress: Progress;
  /** Ends the test early, with everything that was started. */
  interrupt: AbortSignal;
}

export interface Measured {
  goals: readonly Goal[];
  parts: readonly Part[];
}

export interface Mode {
  usage: string;
  /** @throws UsageError */
  parse(args: readonly string[]): CommandLine<(context: MeasureContext) => Promise<Measured>>;
}

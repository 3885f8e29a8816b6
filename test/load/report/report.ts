/** What a load test hands to its reports. */
import type { Machine } from "../machine.ts";
import type { Goal } from "./goal.ts";
import type { Summarized } from "./summary.ts";

/** One measurement: some servers, some phases, some rounds. */
export interface Part extends Summarized {
  title: string;
  /** The command that measures this part alone. */
  command: string;
  /** What is needed to read the figures, a sentence or a line each. */
  facts: readonly string[];
  options: object;
  /** In the order of the report. */
  phases: readonly string[];
  rounds: number;
}

export interface Report {
  command: string;
  /** ISO 8601. */
  measured_at: string;
  machine: Machine;
  goals: readonly Goal[];
  parts: readonly Part[];
}

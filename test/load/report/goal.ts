/** A figure with its floor: what is to be reached, what was measured, and with which command. */
import { shownNumber } from "./shown-number.ts";

export interface Floor {
  what: string;
  unit: string;
  floor: number;
  /** Whether a higher or a lower value is better. */
  better: "higher" | "lower";
}

export interface Goal extends Floor {
  /** Null if it could not be measured here. */
  measured: number | null;
  /** Of a ratio: where its mean lies with 95 % confidence. */
  interval: { low: number; high: number } | null;
  /** Processor time of the load generator per run, in microseconds; null where no run was measured. */
  generatorUs: number | null;
  command: string;
}

/** How far the floor is reached: at least 1 if it is. Null without a measurement. */
export function reachedShare({ measured, floor, better }: Goal): number | null {
  if (measured === null) return null;
  return better === "higher" ? measured / floor : floor / measured;
}

/** The measured value with its interval. */
export function shownMeasurement({ measured, interval }: Goal): string {
  if (measured === null) return "";
  const range = interval === null ? "" : ` (${shownNumber(interval.low)} - ${shownNumber(interval.high)})`;
  return `${shownNumber(measured)}${range}`;
}

export function shownFloor({ better, floor, unit }: Floor): string {
  return `${better === "higher" ? "at least" : "at most"} ${shownNumber(floor)}${unit === "" ? "" : ` ${unit}`}`;
}

export function shownOptional(value: number | null): string {
  return value === null ? "" : shownNumber(value);
}

/** The table as Markdown, as it stands in docs/PERFORMANCE.md. */
export function renderGoals(goals: readonly Goal[]): string[] {
  if (goals.length === 0) return [];
  return [
    "| What | Floor | Measured | Times the floor | Load generator, us per run | Command |",
    "|---|---|---|---|---|---|",
    ...goals.map((goal) => {
      const figures = [shownMeasurement(goal), shownOptional(reachedShare(goal)), shownOptional(goal.generatorUs)];
      return `| ${[goal.what, shownFloor(goal), ...figures].join(" | ")} | \`${goal.command}\` |`;
    }),
  ];
}

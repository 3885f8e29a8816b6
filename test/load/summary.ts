/** The rounds of a load test with one line per figure: medians, spread, and the ratio of two targets within a round. */
import type { LoadReport } from "./load-test.ts";
import type { PhaseName } from "./options.ts";
import { median } from "./samples.ts";

export interface SummaryLine {
  phase: PhaseName;
  name: string;
  unit: string;
  /** In the order of the report's targets; null for a target without this figure. */
  targets: ({ median: number; least: number; most: number } | null)[];
  /** Median over rounds of the first target's value divided by the second's; null without a second target. */
  ratio: number | null;
}

export function summarize(report: LoadReport): SummaryLine[] {
  const names = report.targets.map(({ name }) => name);
  /** Values by phase and figure, then by target and round. */
  const lines = new Map<string, SummaryLine & { values: Map<number, number>[] }>();
  for (const { phase, target, round, figures } of report.records) {
    for (const { name, unit, value } of figures) {
      const key = `${phase} ${name}`;
      const line = lines.get(key) ?? { phase, name, unit, targets: [], ratio: null, values: names.map(() => new Map()) };
      line.values[names.indexOf(target)]?.set(round, value);
      lines.set(key, line);
    }
  }
  return [...lines.values()].map(({ values, ...line }) => ({ ...line, targets: values.map(spread), ratio: ratioOf(values) }));
}

function spread(rounds: Map<number, number>): SummaryLine["targets"][number] {
  const values = [...rounds.values()];
  const middle = median(values);
  return middle === null ? null : { median: middle, least: Math.min(...values), most: Math.max(...values) };
}

function ratioOf([first, second]: Map<number, number>[]): number | null {
  if (first === undefined || second === undefined) return null;
  const ratios: number[] = [];
  for (const [round, value] of first) {
    const other = second.get(round);
    if (other !== undefined && other !== 0) ratios.push(value / other);
  }
  return median(ratios);
}

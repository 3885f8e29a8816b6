/** The rounds of a load test with one line per figure: medians, spread, and the ratio of two targets within a round. */
import type { Distribution } from "../distribution.ts";
import type { Figure } from "../figure.ts";
import { median } from "../samples.ts";
import type { Timeline } from "../timeline.ts";

export interface PhaseRecord {
  phase: string;
  target: string;
  /** From 1. */
  round: number;
  figures: Figure[];
  notes: string[];
  /** What the charts show; missing where nothing was sampled. */
  timeline?: Timeline | undefined;
  distributions?: readonly Distribution[] | undefined;
}

export interface TargetRecord {
  name: string;
  version: string;
  durability: string;
  start_ms: number | null;
}

/** What was measured: the targets, and the figures of every phase and round. */
export interface Summarized {
  targets: TargetRecord[];
  records: PhaseRecord[];
}

export interface SummaryLine {
  phase: string;
  name: string;
  unit: string;
  /** In the order of the report's targets; null for a target without this figure. */
  targets: ({ median: number; least: number; most: number } | null)[];
  /** Median over rounds of the first target's value divided by the second's; null without a second target. */
  ratio: number | null;
  /** Where the mean ratio lies with 95 % confidence; null with fewer than three rounds of both targets. */
  interval: { low: number; high: number } | null;
}

export function summarize(report: Summarized): SummaryLine[] {
  const names = report.targets.map(({ name }) => name);
  /** Values by phase and figure, then by target and round. */
  const lines = new Map<string, SummaryLine & { values: Map<number, number>[] }>();
  for (const { phase, target, round, figures } of report.records) {
    for (const { name, unit, value } of figures) {
      const key = `${phase} ${name}`;
      const line = lines.get(key) ?? {
        phase,
        name,
        unit,
        targets: [],
        ratio: null,
        interval: null,
        values: names.map(() => new Map()),
      };
      line.values[names.indexOf(target)]?.set(round, value);
      lines.set(key, line);
    }
  }
  return [...lines.values()].map(({ values, ...line }) => {
    const ratios = ratiosOf(values);
    return { ...line, targets: values.map(spread), ratio: median(ratios), interval: intervalOf(ratios) };
  });
}

function spread(rounds: Map<number, number>): SummaryLine["targets"][number] {
  const values = [...rounds.values()];
  const middle = median(values);
  return middle === null ? null : { median: middle, least: Math.min(...values), most: Math.max(...values) };
}

function ratiosOf([first, second]: Map<number, number>[]): number[] {
  const ratios: number[] = [];
  for (const [round, value] of first ?? []) {
    const other = second?.get(round);
    if (other !== undefined && other !== 0) ratios.push(value / other);
  }
  return ratios;
}

/** Student's t for 95 %, two-sided, by degrees of freedom from 2; beyond the last the normal distribution is close. */
const STUDENT_T = [
  4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093,
];
const NORMAL = 1.96;

/** The interval of the geometric mean: logarithms of ratios are as far from 0 for 2 as for 1/2. */
function intervalOf(ratios: readonly number[]): SummaryLine["interval"] {
  const logs = ratios.filter((ratio) => ratio > 0).map(Math.log);
  if (logs.length < 3) return null;
  const mean = logs.reduce((sum, value) => sum + value, 0) / logs.length;
  const variance = logs.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (logs.length - 1);
  const half = (STUDENT_T[logs.length - 3] ?? NORMAL) * Math.sqrt(variance / logs.length);
  return { low: Math.exp(mean - half), high: Math.exp(mean + half) };
}

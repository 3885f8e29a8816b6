/** The charts of a part: what its timelines and distributions show, as data for charts.js. */
import { type Distribution, SHARES } from "../distribution.ts";
import type { Part } from "./report.ts";
import type { PhaseRecord } from "./summary.ts";

export interface ChartSeries {
  label: string;
  /** Which of the colours: one for each target, or for each process. */
  color: number;
  dashed: boolean;
}

export interface Chart {
  title: string;
  /** Time: seconds. Share: how many of a hundred requests were slower. */
  x: "time" | "share";
  unit: string;
  series: ChartSeries[];
  /** The values of x, then those of each series. */
  data: (number | null)[][];
}

interface Curve {
  series: ChartSeries;
  points: ReadonlyMap<number, number>;
}

/** Of each phase: the last round of each target. */
export function chartsOfPart(part: Part): { phase: string; charts: Chart[] }[] {
  return part.phases
    .map((phase) => {
      const records = part.targets.flatMap(({ name }, color) => {
        const last = part.records.findLast((record) => record.phase === phase && record.target === name);
        return last === undefined ? [] : [{ record: last, color }];
      });
      return { phase, charts: [...timeCharts(records), ...latencyCharts(records)] };
    })
    .filter(({ charts }) => charts.length > 0);
}

interface Shown {
  record: PhaseRecord;
  color: number;
}

function timeCharts(shown: readonly Shown[]): Chart[] {
  const rates = shown.map(({ record, color }) => timeCurve(record, record.target, color, false, record.timeline?.rate));
  const ofProcesses = (pick: "cores" | "mib") =>
    shown.flatMap(({ record, color }) =>
      (record.timeline?.processes ?? []).map((process, index) =>
        timeCurve(record, `${record.target}: ${process.name}`, color * PROCESS_COLORS + index, color > 0, process[pick]),
      ),
    );
  return [
    ...chart("Ended per second", "time", "/s", rates),
    ...chart("Processor time of each process", "time", "cores", ofProcesses("cores")),
    ...chart("Memory of each process", "time", "MiB", ofProcesses("mib")),
  ];
}

/** Colours of one target's processes: server, engines, load generator. */
const PROCESS_COLORS = 3;

function timeCurve(record: PhaseRecord, label: string, color: number, dashed: boolean, values: readonly number[] = []): Curve {
  const seconds = record.timeline?.seconds ?? [];
  return { series: { label, color, dashed }, points: new Map(values.map((value, index) => [seconds[index] ?? 0, value])) };
}

/** One chart for each kind of latency that any target has. */
function latencyCharts(shown: readonly Shown[]): Chart[] {
  const names = new Set(shown.flatMap(({ record }) => (record.distributions ?? []).map(({ name }) => name)));
  return [...names].flatMap((name) => {
    const curves = shown.flatMap(({ record, color }) => {
      const found = record.distributions?.find((one) => one.name === name);
      return found === undefined ? [] : [shareCurve(found, record.target, color)];
    });
    return chart(`Latency: ${name}`, "share", "ms", curves);
  });
}

function shareCurve({ ms }: Distribution, label: string, color: number): Curve {
  const points = new Map(SHARES.map((share, index) => [slowerOf(share), ms[index] ?? 0]));
  return { series: { label, color, dashed: false }, points };
}

/** One request in so many is slower: on a logarithmic scale the slow end of the curve has room. */
function slowerOf(share: number): number {
  return Number((1 / (1 - share)).toPrecision(6));
}

function chart(title: string, x: Chart["x"], unit: string, curves: readonly Curve[]): Chart[] {
  const present = curves.filter(({ points }) => points.size > 0);
  if (present.length === 0) return [];
  const xs = [...new Set(present.flatMap(({ points }) => [...points.keys()]))].sort((a, b) => a - b);
  const data = [xs, ...present.map(({ points }) => xs.map((at) => points.get(at) ?? null))];
  return [{ title, x, unit, series: present.map(({ series }) => series), data }];
}

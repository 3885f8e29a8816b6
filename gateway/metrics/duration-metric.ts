/** A histogram of the metrics library whose counts come from elsewhere, because it counts only what it observes itself. */
import { Histogram, type HistogramConfiguration } from "prom-client";
import type { DurationFigures } from "#protocol/wire/figures";
import { DURATION_BOUNDS_US } from "#runtime/durations";

type Labels = Readonly<Record<string, string>>;

const BOUNDS = [...DURATION_BOUNDS_US.map((us) => String(us / 1e6)), "+Inf"];

interface Value {
  metricName: string;
  labels: Labels;
  value: number;
}

export class DurationMetric extends Histogram {
  readonly #head: { name: string; help: string; type: "histogram" };
  #series: readonly [labels: Labels, figures: DurationFigures][] = [];

  constructor(configuration: HistogramConfiguration<string>) {
    super(configuration);
    const { name, help } = configuration;
    this.#head = { name, help, type: "histogram" };
  }

  take(series: readonly [labels: Labels, figures: DurationFigures][]): void {
    this.#series = series;
  }

  /** What the library asks a histogram for when it renders; its declarations leave this out. */
  getForPromString(): Promise<object> {
    const { name } = this.#head;
    return Promise.resolve({
      ...this.#head,
      values: this.#series.flatMap(([labels, figures]) => valuesOf(name, labels, figures)),
    });
  }
}

function valuesOf(name: string, labels: Labels, { counts, sum_us }: DurationFigures): Value[] {
  let total = 0;
  const buckets = BOUNDS.map((le, index) => {
    total += counts[index] ?? 0;
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: total };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum_us / 1e6 },
    { metricName: `${name}_count`, labels, value: total },
  ];
}

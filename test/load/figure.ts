/** A measured figure, and the computation of figures from samples. */
import type { Samples } from "./samples.ts";

export interface Figure {
  name: string;
  unit: string;
  value: number;
}

export function figure(name: string, unit: string, value: number | null): Figure[] {
  return value === null || !Number.isFinite(value) ? [] : [{ name, unit, value }];
}

/** p50, p99 and maximum in milliseconds; empty without samples. */
export function latencyFigures(name: string, samples: Samples): Figure[] {
  const [p50, p99, max] = samples.quantiles([0.5, 0.99, 1]);
  return [
    ...figure(`${name} p50`, "ms", p50 ?? null),
    ...figure(`${name} p99`, "ms", p99 ?? null),
    ...figure(`${name} max`, "ms", max ?? null),
  ];
}

/** The mean of each figure over several measurements of the same. */
export function meanFigures(measurements: readonly (readonly Figure[])[]): Figure[] {
  const byName = new Map<string, Figure[]>();
  for (const one of measurements.flat()) byName.set(one.name, [...(byName.get(one.name) ?? []), one]);
  return [...byName].flatMap(([name, same]) =>
    figure(name, same[0]?.unit ?? "", same.reduce((sum, { value }) => sum + value, 0) / same.length),
  );
}

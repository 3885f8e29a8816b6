/** The curve of a latency: its quantiles at fixed shares. */
import type { Samples } from "./samples.ts";

/** Close to each other where the slow ones are. */
export const SHARES = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999] as const;

export interface Distribution {
  name: string;
  /** Milliseconds at each of SHARES. */
  ms: number[];
}

/** Empty without samples. */
export function distribution(name: string, samples: Samples): Distribution[] {
  if (samples.count === 0) return [];
  return [{ name, ms: samples.quantiles(SHARES).map((value) => value ?? 0) }];
}

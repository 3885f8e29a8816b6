/** Searches for a deliberate bug. */
import { type RunJob, runJob } from "./jobs.ts";
import type { SeedResult } from "./simulation.ts";

export interface HuntOptions {
  /** The first seed, and how many. */
  seed: number;
  seeds: number;
  messages: number;
}

/** Runs seeds with the bug until one fails; null when none does. */
export async function hunt(mutation: string, options: HuntOptions, run: RunJob = runJob): Promise<SeedResult | null> {
  for (let seed = options.seed; seed < options.seed + options.seeds; seed += 1) {
    const result = await run({ seed, messages: options.messages, mutation });
    if (result.violation !== null) return result;
  }
  return null;
}

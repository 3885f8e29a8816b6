/** Searches for a deliberate bug. */
import type { Mutation } from "./mutation-tools.ts";
import { runSeed, type SeedResult } from "./simulation.ts";

export interface HuntOptions {
  /** The first seed, and how many. */
  seed: number;
  seeds: number;
  messages: number;
}

/** Runs seeds with the bug until one fails; null when none does. */
export async function hunt(mutation: Mutation, options: HuntOptions): Promise<SeedResult | null> {
  for (let seed = options.seed; seed < options.seed + options.seeds; seed += 1) {
    const restore = mutation.install?.();
    try {
      const result = await runSeed({ seed, messages: options.messages, mutation, echo: null });
      if (result.violation !== null) return result;
    } finally {
      restore?.();
    }
  }
  return null;
}

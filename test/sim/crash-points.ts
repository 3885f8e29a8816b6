/**
 * A crash at every point: a seed is identical up to the message at which its only fault happens, so one run per message tries
 * every point between a commit and its effects.
 */
import { Coverage } from "./coverage.ts";
import type { Fault } from "./fault-plan.ts";
import { runSeed, type SeedResult } from "./simulation.ts";

/** Faults that lose memory: of the whole process, of the core, and of the core together with the answers of a commit. */
const CRASHES: readonly Fault[] = ["process restarts", "core thread ends", "store-writer throws and core ends after commit"];
/** Operations that must occur, otherwise the seed exercises too few rules. */
const NEEDED = ["put_firing", "put_fired", "put_outbound", "delete_outbound", "put_expectation", "put_cursor"];

export interface CrashPoints {
  runs: number;
  failed: { point: number; fault: Fault; result: SeedResult }[];
  missing: string[];
}

/** Stops at the first failure. */
export async function runCrashPoints(seed: number, messages: number): Promise<CrashPoints> {
  const coverage = new Coverage();
  let runs = 0;
  for (let point = 1; point <= messages; point += 1) {
    for (const fault of CRASHES) {
      const result = await runSeed({ seed, messages, mutation: null, faults: [{ fault, at: point }], echo: null });
      runs += 1;
      coverage.add(result.coverage);
      if (result.violation !== null) return { runs, failed: [{ point, fault, result }], missing: [] };
    }
  }
  const operations = NEEDED.filter((name) => !coverage.operations.has(name)).map((name) => `operation ${name}`);
  const faults = CRASHES.filter((fault) => !coverage.faults.has(fault)).map((fault) => `fault "${fault}"`);
  return { runs, failed: [], missing: [...operations, ...faults] };
}

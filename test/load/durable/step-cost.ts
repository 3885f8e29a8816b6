/** Phase steps: what a stored step costs the server. Runs whose steps are stored take turns with the same runs whose steps are not. */
import { figure } from "../figure.ts";
import { LoadFailed } from "../load-failed.ts";
import type { PhaseResult } from "../phases/phase.ts";
import { ownCpuUs, readUsage } from "../process-usage.ts";
import { SeededRandom } from "../random.ts";
import { field, getJson, type Target } from "../target.ts";
import { DurableEngine, type HeldRun } from "./durable-engine.ts";
import { beginning, completion, FIRST_SEQ, TASK_SEQS, task } from "./durable-events.ts";
import { createRuns } from "./durable-runs.ts";

/** Runs that the engine holds at a time: each exchange carries one step of each of them. */
const SLOTS = 64;
export const STORED = "stored steps";
export const SIDES = [STORED, "tasks only"] as const;
export type Side = (typeof SIDES)[number];

export interface StepSeries {
  target: Target;
  pid: number;
  runs: number;
  steps: number;
  seed: number;
}

export interface StepResult extends PhaseResult {
  /** Null if the server's process cannot be read. */
  serverUs: number | null;
}

/** Executes a series of runs with one engine; each of their steps is reported alone, as of a flow that awaits one after the other. */
export async function runStepSeries({ target, pid, runs, steps, seed }: StepSeries, side: Side): Promise<StepResult> {
  await createRuns(target, runs);
  const random = new SeededRandom(seed);
  const engine = new DurableEngine(target, pid);
  const serverBefore = readUsage(target.pid ?? 0);
  const ownBefore = ownCpuUs();
  const startedAt = performance.now();
  let last: HeldRun | undefined;
  for (let done = 0; done < runs; ) {
    const held = await engine.exchange([], Math.min(SLOTS, runs - done), true);
    await engine.exchange(
      held.map((run) => ({ run, events: beginning() })),
      0,
    );
    let seq = FIRST_SEQ;
    for (let step = 0; step < steps; step++) {
      await engine.exchange(
        held.map((run) => ({ run, events: task(random, seq, step, side === STORED) })),
        0,
      );
      seq += TASK_SEQS;
    }
    await engine.exchange(
      held.map((run) => ({ run, events: completion(seq) })),
      0,
    );
    done += held.length;
    last = held.at(-1) ?? last;
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const serverAfter = readUsage(target.pid ?? 0);
  const generatorUs = ownCpuUs() - ownBefore;
  engine.close();
  if (last !== undefined) await checkStored(target, last.run_id, side === STORED ? steps : 0);
  const count = runs * steps;
  const serverUs = serverBefore === null || serverAfter === null ? null : (serverAfter.cpuUs - serverBefore.cpuUs) / count;
  return {
    serverUs,
    figures: [
      ...figure("server CPU per step", "us", serverUs),
      ...figure("generator CPU per step", "us", generatorUs / count),
      ...figure("steps", "steps/s", count / seconds),
    ],
    notes: [],
  };
}

async function checkStored(target: Target, run: number, steps: number): Promise<void> {
  const items = field(await getJson(target.endpoint, `/api/runs/${run}/steps?limit=1000`), "items");
  const stored = Array.isArray(items) ? items.length : null;
  if (stored !== steps) throw new LoadFailed(`run ${run} has ${stored} stored steps instead of ${steps}`);
}

/** Creates runs of a durable flow, and makes them sleep. */
import { setTimeout as pause } from "node:timers/promises";
import { createBatchBody } from "../engine-protocol.ts";
import { asciiJson, HttpConnection } from "../http-connection.ts";
import { LoadFailed } from "../load-failed.ts";
import type { Target } from "../target.ts";
import { DurableEngine, type HeldRun } from "./durable-engine.ts";
import { beginning, completion, FIRST_SEQ, park, sleepUntil } from "./durable-events.ts";

/** Of the protocol. */
const BATCH_MAX = 10_000;
/** Engines that make runs sleep side by side, and runs that each of them holds at a time. */
const ENGINES = 4;
const SLOTS = 256;
/** Queued runs are handed out at once; without any for so long the server has lost some. */
const IDLE_MS_MAX = 30_000;
const IDLE_PAUSE_MS = 5;

/** Registers the durable flow by a run, which an engine completes. */
export async function registerFlow(target: Target, pid: number): Promise<void> {
  const { project, name, module, source_dir } = target.flow;
  const options = { durable: true };
  await post(target, "/api/runs", asciiJson({ project, flow: name, module, source_dir, options, created_by: "load" }));
  const engine = new DurableEngine(target, pid);
  const [run] = await engine.exchange([], 1, true);
  if (run === undefined) throw new LoadFailed("the first run was not handed out");
  await engine.exchange([{ run, events: beginning() }], 0);
  await engine.exchange([{ run, events: completion(FIRST_SEQ) }], 0);
  engine.close();
}

export async function createRuns(target: Target, count: number): Promise<void> {
  for (let first = 0; first < count; first += BATCH_MAX) {
    const names = Array.from({ length: Math.min(BATCH_MAX, count - first) }, (_, index) => `load-durable-${first + index}`);
    await post(target, "/api/runs/batch", createBatchBody(target.flow, names));
  }
}

/**
 * Creates runs and parks each of them in a sleep.
 *
 * @param dueUs the end of the n-th sleep, from 0
 * @returns the end of the sleep of each run
 */
export async function createSleepers(
  target: Target,
  pid: number,
  count: number,
  dueUs: (n: number) => number,
  live: (text: string) => void,
): Promise<Map<number, number>> {
  const dues = new Map<number, number>();
  await createRuns(target, count);
  const engines = Array.from({ length: ENGINES }, () => new DurableEngine(target, pid));
  /** Takes runs until all are taken; those of the end of a turn are parked with the exchange that takes the next ones. */
  const serve = async (engine: DurableEngine): Promise<void> => {
    let parked: HeldRun[] = [];
    for (let idleSince = Date.now(); dues.size < count || parked.length > 0; ) {
      const slots = Math.min(SLOTS, count - dues.size);
      const runs = await engine.exchange(
        parked.map((run) => ({ run, events: park(FIRST_SEQ) })),
        slots,
      );
      parked = runs;
      if (runs.length > 0) {
        idleSince = Date.now();
        const first = dues.size;
        for (const [index, { run_id }] of runs.entries()) dues.set(run_id, dueUs(first + index));
        await engine.exchange(
          runs.map((run) => ({ run, events: beginning() })),
          0,
        );
        await engine.arm(runs.map((run) => ({ run, wait: sleepUntil(dues.get(run.run_id) ?? 0) })));
        live(`${dues.size} of ${count} runs sleep`);
      } else if (Date.now() - idleSince > IDLE_MS_MAX) throw new LoadFailed(`only ${dues.size} of ${count} runs were handed out`);
      else await pause(IDLE_PAUSE_MS);
    }
  };
  try {
    await Promise.all(engines.map(serve));
  } finally {
    for (const engine of engines) engine.close();
  }
  return dues;
}

async function post(target: Target, path: string, body: string): Promise<void> {
  const connection = new HttpConnection(target.endpoint);
  try {
    const answer = await connection.post(path, body);
    if (answer.status >= 300) throw new LoadFailed(`POST ${path} answered ${answer.status}: ${answer.body.slice(0, 200)}`);
  } finally {
    connection.close();
  }
}

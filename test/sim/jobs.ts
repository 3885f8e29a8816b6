/** Runs seeds one after another on this thread, or several at a time on worker threads. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Mutation } from "./mutation-tools.ts";
import { MUTATIONS } from "./mutations.ts";
import { runSeed, type SeedResult } from "./simulation.ts";

/** One seed, alone or with a deliberate bug. */
export interface Job {
  seed: number;
  messages: number;
  /** Name of the bug. */
  mutation: string | null;
}

export type RunJob = (job: Job) => Promise<SeedResult>;

export async function runJob(job: Job, echo: ((line: string) => void) | null = null): Promise<SeedResult> {
  const mutation = job.mutation === null ? null : mutationOf(job.mutation);
  const restore = mutation?.install?.();
  try {
    return await runSeed({ ...job, mutation, echo });
  } finally {
    restore?.();
  }
}

function mutationOf(name: string): Mutation {
  const mutation = MUTATIONS.find((known) => known.name === name);
  if (mutation === undefined) throw new Error(`no deliberate bug is named "${name}"`);
  return mutation;
}

export interface LaneOptions {
  lanes: number;
  /** Gets every step of the seeds, which a single lane runs on this thread. */
  echo: ((line: string) => void) | null;
}

/** Calls `work` for each item, `lanes` of them at a time; each lane runs its seeds on a thread of its own. */
export async function inLanes<Item>(
  items: Iterable<Item>,
  { lanes, echo }: LaneOptions,
  work: (item: Item, run: RunJob) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const lane = async (run: RunJob): Promise<void> => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) await work(next.value, run);
  };
  if (lanes === 1) return lane((job) => runJob(job, echo));
  const workers = Array.from({ length: lanes }, () => new Worker(new URL("./job-thread.ts", import.meta.url)));
  try {
    await Promise.all(workers.map((worker) => lane((job) => runOn(worker, job))));
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

/** An error that ends the thread rejects. */
async function runOn(worker: Worker, job: Job): Promise<SeedResult> {
  worker.postMessage(job);
  const [result] = (await once(worker, "message")) as [SeedResult];
  return result;
}

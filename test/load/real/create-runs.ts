/** Creates the runs of a round with several clients. */
import { setTimeout as sleep } from "node:timers/promises";
import { HttpConnection } from "../http-connection.ts";
import { LoadFailed } from "../load-failed.ts";
import type { RealServer } from "./real-server.ts";
import type { Workload } from "./workloads.ts";

/** The answer to a batch is long. */
const READ_BYTES = 65_536;

export interface CreateOptions {
  creators: number;
  /** Runs of one request of a creator. */
  batch: number;
  /** At most so many runs a second, evenly; null for as many as the server accepts. */
  perSecond: number | null;
  interrupt: AbortSignal;
}

/** Resolves with the time of the last answer. */
export async function createRuns(server: RealServer, flow: number, workload: Workload, options: CreateOptions): Promise<number> {
  const { creators, batch, perSecond, interrupt } = options;
  const { parameters, runs } = workload;
  const bodyOf = (count: number) =>
    JSON.stringify(batch === 1 ? { parameters } : { defaults: { flow_id: flow, parameters }, runs: Array(count).fill({}) });
  const path = batch === 1 ? `/api/flows/${flow}/runs` : "/api/runs/batch";
  const whole = bodyOf(batch);
  const begunMs = performance.now();
  let left = runs;
  const creator = async () => {
    const connection = new HttpConnection(server.endpoint, READ_BYTES);
    try {
      while (left > 0) {
        if (interrupt.aborted) throw new LoadFailed("interrupted");
        const count = Math.min(batch, left);
        const dueMs = perSecond === null ? 0 : begunMs + ((runs - left) * 1_000) / perSecond;
        left -= count;
        if (dueMs > performance.now()) await sleep(dueMs - performance.now());
        const answer = await connection.post(path, count === batch ? whole : bodyOf(count));
        if (answer.status !== 201) throw new LoadFailed(`a run was not created: ${answer.status} ${answer.body}`);
      }
    } finally {
      connection.close();
    }
  };
  await Promise.all(Array.from({ length: Math.min(creators, Math.ceil(runs / batch)) }, creator));
  return performance.now();
}

/**
 * Measures the deletion of a flow: `node --conditions=millrace-src test/load/deletion-cost.ts [RUNS] [TREE]`
 *
 * A store with RUNS ended runs of 20 flows (default 400,000, so 20,000 of the flow that is deleted) is served, one of its flows
 * is deleted, and meanwhile another client creates runs of another flow, one after the other. With TREE, a built checkout of
 * this repository, the same with its server. Both servers are those of the compiled package (`npm run build`).
 */
import { existsSync } from "node:fs";
import { Millrace } from "#sdk/client/index";
import { startOwnServer } from "./own-server.ts";

const [RUNS = "400000", TREE = ""] = process.argv.slice(2);
/** Deletions of flows with the same number of runs, one after the other. */
const ROUNDS = 3;

function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.ceil(part * sorted.length) - 1] ?? Number.NaN;
}

async function measure(name: string, tree?: string): Promise<void> {
  const options = { home: null, durability: "normal", token: null, compiled: true } as const;
  const target = await startOwnServer(options, { runs: Number(RUNS), seed: 1 }, tree);
  try {
    const { host, port } = target.endpoint;
    const client = new Millrace({ url: `http://${host}:${port}` });
    for (let flow = 2; flow < 2 + ROUNDS; flow += 1) {
      const stored = (await client.runs.counts({ flow_id: flow })).total;
      const meanwhile = createMeanwhile(client);
      const startedMs = performance.now();
      await client.flows.delete(flow);
      const seconds = (performance.now() - startedMs) / 1000;
      const times = await meanwhile();
      const [p50, last] = [0.5, 1].map((part) => `${quantile(times, part).toFixed(1)} ms`);
      console.log(`${name}: ${stored} ended runs deleted in ${seconds.toFixed(2)} s; another create p50 ${p50}, slowest ${last}`);
    }
  } finally {
    await target.stop();
  }
}

/** Creates runs one after the other until the function is called, which resolves with the sorted times in milliseconds. */
function createMeanwhile(client: Millrace): () => Promise<number[]> {
  const times: number[] = [];
  let isOver = false;
  const creating = (async () => {
    while (!isOver) {
      const sentMs = performance.now();
      await client.runs.create({ project: "load", flow: "other", module: "bench_mod", source_dir: "/bench" });
      times.push(performance.now() - sentMs);
    }
  })();
  return async () => {
    isOver = true;
    await creating;
    return times.sort((a, b) => a - b);
  };
}

await measure("millrace");
if (existsSync(TREE)) await measure("tree", TREE);
process.exit(0);

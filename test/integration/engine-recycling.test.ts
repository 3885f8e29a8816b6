/** Engines of the server's pool that are replaced while runs are created all the time. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { Millrace } from "#sdk/client/index";
import { serveFlows } from "../support/served-flows.ts";

const FLOWS = `
  import { setTimeout as sleep } from "node:timers/promises";
  import { flow } from "millrace";
  const kept: number[][] = [];
  export const who = flow("who", async () => {
    await sleep(5);
    return process.pid;
  });
  export const leaks = flow("leaks", async () => {
    kept.push(Array.from({ length: 500_000 }, Math.random));
    return process.pid;
  });`;

async function served(t: Test, settings: string) {
  return await serveFlows(t, { "flows.ts": FLOWS, "millrace.toml": `[server]\n${settings}\n` });
}

/**
 * Creates run after run on two sides until this many engines have executed some; returns the engine of each run. Fails if a run
 * does not complete.
 */
async function runUntilEngines(client: Millrace, flow: string, count: number): Promise<number[]> {
  const { id: flowId = 0 } = (await client.flows.list()).find(({ name }) => name === flow) ?? {};
  const executed: number[] = [];
  const engines = new Set<number>();
  const create = async (): Promise<void> => {
    while (engines.size < count) {
      const { id } = await client.flows.run(flowId);
      const { run, result } = await client.runs.waitFor<number>(id);
      if (result === undefined) throw new Error(`run ${id}: ${run.state.name}: ${run.state.message}`);
      executed.push(result);
      engines.add(result);
    }
  };
  await Promise.all([create(), create()]);
  return executed;
}

/** The number of runs of each engine, in the order of the engines. */
function runsOfEach(executed: readonly number[]): number[] {
  return [...new Set(executed)].map((pid) => executed.filter((each) => each === pid).length);
}

t.test("an engine that has done its runs goes on until its successor is ready: no run waits for a start", async (t) => {
  const { client } = await served(t, "max_engines = 1\nengine_max_runs = 10");
  const executed = await runUntilEngines(client, "who", 4);
  const runs = runsOfEach(executed).slice(0, -1);
  t.ok(
    runs.every((count) => count > 10),
    `runs of each engine: ${runs.join()}`,
  );
  t.same((await client.runs.counts()).states, { Completed: executed.length });
});

t.test("an engine whose flow leaks memory is replaced in the same way, and the server's log has the reason", async (t) => {
  const { client, home } = await served(t, "max_engines = 1\nengine_growth_mb = 30");
  const executed = await runUntilEngines(client, "leaks", 2);
  const replaced =
    /warn.* engine engine-\d+-1 of flows\.ts is replaced after (\d+) runs: its code holds \d+ MB after a garbage collection, and held \d+ MB after its first runs/;
  const [, count] = replaced.exec(readFileSync(join(home, "server.log"), "utf8")) ?? [];
  const [runs = 0] = runsOfEach(executed);
  t.ok(runs > Number(count), `${runs} runs, asked to be replaced after ${count}`);
  t.same((await client.runs.counts()).states, { Completed: executed.length });
});

/** One round of a workload: creates its runs, waits until all have ended, and reads what they cost. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Figure, figure, latencyFigures } from "../figure.ts";
import { HttpConnection } from "../http-connection.ts";
import { ownCpuUs, readUsage } from "../process-usage.ts";
import { Samples } from "../samples.ts";
import { field } from "../target.ts";
import { MIB } from "../window.ts";
import { EngineUsage } from "./engine-usage.ts";
import type { RealServer } from "./real-server.ts";
import type { Workload, WorkloadName } from "./workloads.ts";

/** How often the counts of runs are read; the end itself is taken from the runs. */
const LOOK_EVERY_MS = 50;
const PAGE_LIMIT = 500;
const READ_BYTES = 262_144;
const ENDED_STATES = ["Completed", "Failed", "TimedOut", "Crashed", "Cancelled"];
const US_PER_S = 1_000_000;
/** Runs whose times are read. */
const READ_RUNS_MAX = 5_000;

export interface RoundOptions {
  creators: number;
  /** A round that takes longer fails. */
  limitSeconds: number;
  progress: ((text: string) => void) | null;
  interrupt: AbortSignal | null;
}

export class RoundFailed extends Error {}

export async function runRound(
  server: RealServer,
  name: WorkloadName,
  workload: Workload,
  options: RoundOptions,
): Promise<Figure[]> {
  const control = new HttpConnection(server.endpoint, READ_BYTES);
  const flow = server.flows.get(name) ?? 0;
  try {
    const before = await counts(control, flow);
    const firstId = await newestRun(control);
    const engines = new EngineUsage(server.pid);
    const serverBefore = readUsage(server.pid);
    const ownBefore = ownCpuUs();
    const begunMs = performance.now();
    const creating = createRuns(server, flow, workload, options);
    creating.catch(() => undefined);
    await untilEnded(control, flow, before.ended + workload.runs, workload.runs, options);
    const createdMs = await creating;
    const endedMs = performance.now();
    const used = engines.end();
    const serverCpuUs = (readUsage(server.pid)?.cpuUs ?? 0) - (serverBefore?.cpuUs ?? 0);
    const generatorCpuUs = ownCpuUs() - ownBefore;
    const runs = await endedRuns(control, flow, firstId, workload.runs);
    const failed = runs.filter(({ completed }) => !completed).length;
    if (failed > 0) throw new RoundFailed(`${failed} runs of ${name} did not complete`);
    const seconds = runs.length < workload.runs ? (endedMs - begunMs) / 1_000 : spanOf(runs) / US_PER_S;
    const beyond = new Samples();
    for (const { startUs, endUs } of runs) beyond.add((endUs - startUs) / 1_000 - workload.atLeast * 1_000);
    const waited = new Samples();
    for (const { createdUs, startUs } of runs) waited.add((startUs - createdUs) / 1_000);
    return [
      ...figure("runs", "runs/s", workload.runs / seconds),
      ...figure("until all ended", "s", seconds),
      ...figure("creation of all", "s", (createdMs - begunMs) / 1_000),
      ...figure("server CPU per run", "us", serverCpuUs / workload.runs),
      ...figure("engine CPU per run", "us", used.cpuUs / workload.runs),
      ...figure("generator CPU per run", "us", generatorCpuUs / workload.runs),
      ...figure("engines at once", "", used.engines),
      ...figure("engine starts", "", used.engineStarts),
      ...figure("memory of all engines", "MiB", used.peakBytes / MIB),
      ...latencyFigures("created to started", waited),
      ...latencyFigures(workload.atLeast > 0 ? "run beyond its own time" : "run", beyond),
    ];
  } finally {
    control.close();
  }
}

/** Resolves with the time of the last answer. */
async function createRuns(server: RealServer, flow: number, workload: Workload, options: RoundOptions): Promise<number> {
  const json = JSON.stringify({ parameters: workload.parameters });
  let left = workload.runs;
  const creator = async () => {
    const connection = new HttpConnection(server.endpoint);
    try {
      while (left > 0) {
        if (options.interrupt?.aborted === true) throw new RoundFailed("interrupted");
        left -= 1;
        const answer = await connection.post(`/api/flows/${flow}/runs`, json);
        if (answer.status !== 201) throw new RoundFailed(`a run was not created: ${answer.status} ${answer.body}`);
      }
    } finally {
      connection.close();
    }
  };
  await Promise.all(Array.from({ length: Math.min(options.creators, workload.runs) }, creator));
  return performance.now();
}

async function untilEnded(
  control: HttpConnection,
  flow: number,
  wanted: number,
  runs: number,
  { limitSeconds, progress, interrupt }: RoundOptions,
): Promise<void> {
  const begunMs = performance.now();
  let toldMs = begunMs;
  for (;;) {
    const { ended } = await counts(control, flow);
    if (ended >= wanted) return;
    const nowMs = performance.now();
    if (interrupt?.aborted === true) throw new RoundFailed("interrupted");
    if (nowMs - begunMs > limitSeconds * 1_000)
      throw new RoundFailed(`after ${limitSeconds} s ${wanted - ended} of ${runs} runs had not ended`);
    if (nowMs - toldMs > 1_000) {
      toldMs = nowMs;
      progress?.(`  ${runs - (wanted - ended)} of ${runs} runs ended after ${((nowMs - begunMs) / 1_000).toFixed(0)} s`);
    }
    await sleep(LOOK_EVERY_MS);
  }
}

async function counts(control: HttpConnection, flow: number): Promise<{ ended: number }> {
  const { body, status } = await control.get(`/api/runs/counts?flow_id=${flow}`);
  if (status !== 200) throw new RoundFailed(`GET /api/runs/counts answered ${status}: ${body}`);
  const states = field(JSON.parse(body), "states");
  const ended = ENDED_STATES.reduce((sum, state) => sum + Number(field(states, state) ?? 0), 0);
  return { ended };
}

async function newestRun(control: HttpConnection): Promise<number> {
  const { body } = await control.get("/api/runs?limit=1");
  const [run] = itemsOf(body);
  return Number(field(run, "id") ?? 0);
}

interface EndedRun {
  createdUs: number;
  startUs: number;
  endUs: number;
  completed: boolean;
}

/** Times of the runs that the round has created, of the newest ones if there are many. */
async function endedRuns(control: HttpConnection, flow: number, afterId: number, count: number): Promise<EndedRun[]> {
  const runs: EndedRun[] = [];
  let cursor: unknown = null;
  do {
    const from = cursor === null ? "" : `&cursor=${encodeURIComponent(String(cursor))}`;
    const { body, status } = await control.get(`/api/runs?flow_id=${flow}&limit=${PAGE_LIMIT}${from}`);
    if (status !== 200) throw new RoundFailed(`GET /api/runs answered ${status}: ${body}`);
    for (const run of itemsOf(body)) {
      if (Number(field(run, "id")) <= afterId) continue;
      const [createdUs, startUs, endUs] = ["created_at", "start_time", "end_time"].map((name) => Number(field(run, name)));
      const completed = field(field(run, "state"), "type") === "Completed";
      runs.push({ createdUs: createdUs ?? 0, startUs: startUs ?? 0, endUs: endUs ?? 0, completed });
    }
    cursor = field(JSON.parse(body), "next_cursor") ?? null;
  } while (cursor !== null && runs.length < Math.min(count, READ_RUNS_MAX));
  return runs;
}

function itemsOf(body: string): unknown[] {
  const items = field(JSON.parse(body), "items");
  return Array.isArray(items) ? (items as unknown[]) : [];
}

/** From the first creation to the last end, by the server's clock. */
function spanOf(runs: readonly EndedRun[]): number {
  return Math.max(...runs.map(({ endUs }) => endUs)) - Math.min(...runs.map(({ createdUs }) => createdUs));
}

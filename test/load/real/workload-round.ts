/** One round of a workload: creates its runs, waits until all have ended, and reads what they cost. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Distribution, distribution } from "../distribution.ts";
import { nowUs } from "../engine-protocol.ts";
import { type Figure, figure, latencyFigures } from "../figure.ts";
import { HttpConnection } from "../http-connection.ts";
import { LoadFailed } from "../load-failed.ts";
import type { MeasureContext } from "../mode.ts";
import type { PhaseResult } from "../phases/phase.ts";
import { Samples } from "../samples.ts";
import { type CreateOptions, createRuns } from "./create-runs.ts";
import { type EndedRun, endedCount, endedRuns, lastEndUs, newestRun } from "./ended-runs.ts";
import type { RealServer } from "./real-server.ts";
import { beginCost, type RoundCost } from "./round-cost.ts";
import type { Workload, WorkloadName } from "./workloads.ts";

/** How often the counts of runs are read; the end itself is taken from the runs. */
const LOOK_EVERY_MS = 50;
const READ_BYTES = 262_144;
/** Engines write their number of requests several times a second. */
const REQUESTS_WRITTEN_MS = 300;
const US_PER_S = 1_000_000;

export interface RoundOptions extends CreateOptions, Pick<MeasureContext, "progress"> {
  /** A round that takes longer fails. */
  limitSeconds: number;
}

export async function runRound(
  server: RealServer,
  name: WorkloadName,
  workload: Workload,
  options: RoundOptions,
): Promise<PhaseResult> {
  const control = new HttpConnection(server.endpoint, READ_BYTES);
  const flow = server.flows.get(name) ?? 0;
  let cost: RoundCost | null = null;
  try {
    const before = await endedCount(control, flow);
    const firstId = await newestRun(control);
    const requestsBefore = server.engineRequests?.() ?? 0;
    cost = beginCost(server, options.progress);
    const begunUs = nowUs();
    const creating = createRuns(server, flow, workload, options);
    creating.catch(() => undefined);
    await untilEnded(control, flow, before, workload.runs, cost, options);
    const createdMs = await creating;
    const costs = cost.end(workload.runs);
    const runs = await endedRuns(control, flow, firstId, workload.runs);
    const failed = runs.filter(({ completed }) => !completed).length;
    if (failed > 0) throw new LoadFailed(`${failed} runs of ${name} did not complete`);
    const seconds = (lastEndUs(runs) - begunUs) / US_PER_S;
    const { figures, distributions } = timesOf(runs, workload);
    return {
      figures: [
        ...figure("runs", "runs/s", workload.runs / seconds),
        ...figure("until all ended", "s", seconds),
        ...figure("creation of all", "s", (createdMs - costs.begunMs) / 1_000),
        ...costs.figures,
        ...(await requestFigures(server, requestsBefore, workload.runs)),
        ...figures,
      ],
      notes: [],
      timeline: costs.timeline,
      distributions,
    };
  } finally {
    cost?.stop();
    control.close();
  }
}

function timesOf(runs: readonly EndedRun[], { atLeast }: Workload): { figures: Figure[]; distributions: Distribution[] } {
  const beyond = new Samples();
  for (const { startUs, endUs } of runs) beyond.add((endUs - startUs) / 1_000 - atLeast * 1_000);
  const waited = new Samples();
  for (const { createdUs, startUs } of runs) waited.add((startUs - createdUs) / 1_000);
  const name = atLeast > 0 ? "run beyond its own time" : "run";
  return {
    figures: [...latencyFigures("created to started", waited), ...latencyFigures(name, beyond)],
    distributions: [...distribution("created to started", waited), ...distribution(name, beyond)],
  };
}

async function requestFigures({ engineRequests }: RealServer, before: number, runs: number): Promise<Figure[]> {
  if (engineRequests === null) return [];
  await sleep(REQUESTS_WRITTEN_MS);
  const requests = engineRequests() - before;
  if (requests === 0) throw new LoadFailed("no request of an engine was counted");
  return figure("engine requests per run", "", requests / runs);
}

async function untilEnded(
  control: HttpConnection,
  flow: number,
  before: number,
  runs: number,
  cost: RoundCost,
  { limitSeconds, interrupt }: RoundOptions,
): Promise<void> {
  const begunMs = performance.now();
  for (;;) {
    cost.ended = (await endedCount(control, flow)) - before;
    if (cost.ended >= runs) return;
    if (interrupt.aborted) throw new LoadFailed("interrupted");
    if (performance.now() - begunMs > limitSeconds * 1_000)
      throw new LoadFailed(`after ${limitSeconds} s ${runs - cost.ended} of ${runs} runs had not ended`);
    await sleep(LOOK_EVERY_MS);
  }
}

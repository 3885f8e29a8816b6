/** What a round of real engines costs: processor time and memory of the server, its engines and the load generator. */
import { type Figure, figure } from "../figure.ts";
import { MIB, ownCpuUs, ownUsage, readUsage } from "../process-usage.ts";
import type { Progress } from "../progress.ts";
import { type Timeline, TimelineSampler } from "../timeline.ts";
import { EngineUsage } from "./engine-usage.ts";

export interface RoundCost {
  /** For the timeline: runs of the round that have ended. */
  ended: number;
  /** Ends the sampling of a round that has failed. */
  stop(): void;
  end(runs: number): { begunMs: number; figures: Figure[]; timeline: Timeline };
}

/** Begins to measure what the round costs. */
export function beginCost(server: { pid: number }, progress: Progress): RoundCost {
  const engines = new EngineUsage(server.pid);
  const before = readUsage(server.pid)?.cpuUs ?? 0;
  const ownBefore = ownCpuUs();
  const begunMs = performance.now();
  const processes = { server: () => readUsage(server.pid), engines: () => engines.usage(), "load generator": ownUsage };
  const cost: RoundCost = {
    ended: 0,
    stop: () => {
      sampler.stop();
      engines.end();
    },
    end: (runs) => {
      const timeline = sampler.end();
      const used = engines.end();
      const after = readUsage(server.pid);
      const figures = [
        ...figure("server CPU per run", "us", ((after?.cpuUs ?? 0) - before) / runs),
        ...figure("engine CPU per run", "us", used.cpuUs / runs),
        ...figure("server and engine CPU per run", "us", ((after?.cpuUs ?? 0) - before + used.cpuUs) / runs),
        ...figure("generator CPU per run", "us", (ownCpuUs() - ownBefore) / runs),
        ...figure("engines at once", "", used.engines),
        ...figure("engine starts", "", used.engineStarts),
        ...figure("server memory", "MiB", (after?.residentBytes ?? 0) / MIB),
        ...figure("memory of all engines", "MiB", used.peakBytes / MIB),
      ];
      return { begunMs, figures, timeline };
    },
  };
  const sampler = new TimelineSampler({ ended: () => cost.ended, processes, live: (text) => progress.live(text) });
  return cost;
}

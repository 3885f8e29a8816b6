/** A measured window: the work, resource use and answers of one target between two moments. */
import { type Distribution, distribution } from "./distribution.ts";
import { type Figure, figure, latencyFigures } from "./figure.ts";
import type { Fleet } from "./fleet.ts";
import { familyCpuUs, MIB, ownCpuUs, ownUsage, type ProcessUsage, readUsage } from "./process-usage.ts";
import { Recorder } from "./recorder.ts";
import type { Target } from "./target.ts";
import { type Timeline, TimelineSampler } from "./timeline.ts";

const US_PER_S = 1_000_000;

export interface Window {
  seconds: number;
  /** Null if the server's process cannot be read. */
  serverCpuUs: number | null;
  generatorCpuUs: number;
  residentBytes: number | null;
  recorder: Recorder;
  timeline: Timeline;
}

export interface WindowContext {
  target: Target;
  fleet: Fleet;
  /** Shows where the window is. */
  live: (text: string) => void;
}

/** Gives the fleet a new recorder; the returned function ends the window. */
export function openWindow(
  { target, fleet, live }: WindowContext,
  ended = (recorder: Recorder) => recorder.completed,
): () => Window {
  const recorder = new Recorder();
  fleet.recorder = recorder;
  const usage = () => usageOf(target);
  const server = target.pid === null ? {} : { server: usage };
  const processes = { ...server, "load generator": ownUsage };
  const sampler = new TimelineSampler({ ended: () => ended(recorder), processes, live });
  const serverBefore = usage();
  const ownBefore = ownCpuUs();
  fleet.stopped.addEventListener("abort", () => sampler.stop(), { once: true });
  const startedAt = performance.now();
  return () => {
    const seconds = (performance.now() - startedAt) / 1_000;
    const timeline = sampler.end();
    const generatorCpuUs = ownCpuUs() - ownBefore;
    const serverAfter = usage();
    fleet.recorder = new Recorder();
    return {
      seconds,
      serverCpuUs: serverBefore === null || serverAfter === null ? null : serverAfter.cpuUs - serverBefore.cpuUs,
      generatorCpuUs,
      residentBytes: serverAfter?.residentBytes ?? null,
      recorder,
      timeline,
    };
  };
}

/** Rates and costs per unit of work, and the failures, if any. */
export function costFigures(window: Window, unit: string, count: number): Figure[] {
  const { serverCpuUs, seconds, residentBytes, recorder } = window;
  return [
    ...figure(`${unit}s`, `${unit}s/s`, count / seconds),
    ...figure(`server CPU per ${unit}`, "us", serverCpuUs === null ? null : serverCpuUs / count),
    ...figure(`generator CPU per ${unit}`, "us", window.generatorCpuUs / count),
    ...figure(`server CPU (${unit}s)`, "cores", serverCpuUs === null ? null : serverCpuUs / (seconds * US_PER_S)),
    ...figure(`generator CPU (${unit}s)`, "cores", window.generatorCpuUs / (seconds * US_PER_S)),
    ...figure(`server memory (${unit}s)`, "MiB", residentBytes === null ? null : residentBytes / MIB),
    ...(recorder.failed > 0 ? figure(`failed requests (${unit}s)`, "", recorder.failed) : []),
  ];
}

export function requestFigures(recorder: Recorder): Figure[] {
  return [
    ...latencyFigures("create", recorder.create),
    ...latencyFigures("dispatch", recorder.dispatch),
    ...latencyFigures("transition", recorder.transition),
    ...latencyFigures("report", recorder.report),
    ...latencyFigures("whole run", recorder.whole),
  ];
}

/** What the charts show of a window. */
export function chartsOf({ timeline, recorder }: Window): { timeline: Timeline; distributions: readonly Distribution[] } {
  const kinds = ["create", "dispatch", "transition", "report", "whole"] as const;
  const names = { whole: "whole run" } as Partial<Record<string, string>>;
  return { timeline, distributions: kinds.flatMap((kind) => distribution(names[kind] ?? kind, recorder[kind])) };
}

/** The server and the database server of its store; memory is that of the server alone. */
function usageOf({ pid, storePid }: Target): ProcessUsage | null {
  const usage = pid === null ? null : readUsage(pid);
  if (usage === null || storePid === undefined) return usage;
  return { ...usage, cpuUs: usage.cpuUs + familyCpuUs(storePid) };
}

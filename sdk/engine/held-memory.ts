/** Measures in the user thread what its code holds after each full garbage collection. */
import type { PerformanceEntry } from "node:perf_hooks";
import type { Gauges } from "../execution/gauges.ts";

/** `constants.NODE_PERFORMANCE_GC_MAJOR` of node:perf_hooks, whose import would take a millisecond of an engine's start. */
const MAJOR = 4;

type CollectionEntry = PerformanceEntry & { detail?: { kind?: number } };

export function followHeldMemory(gauges: Gauges): void {
  const observer = new PerformanceObserver((list) => {
    if (!list.getEntries().some((entry) => (entry as CollectionEntry).detail?.kind === MAJOR)) return;
    const { heapUsed, external } = process.memoryUsage();
    gauges.noteCollection(heapUsed + external);
  });
  observer.observe({ entryTypes: ["gc"] });
}

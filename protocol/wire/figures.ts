/** What the core knows of itself for GET /metrics: counts that it keeps anyway, so that no scrape walks over runs. */
import type { ActorInfo } from "../records/server.ts";

/** What a waiting run waits for, as a label of the metrics. */
export const QUEUE_REASONS = {
  ready: "engine",
  blocked: "resource",
  behind: "backfill",
  future: "not_due",
  held: "held",
} as const;

/** A place where runs wait. */
export type QueuePlace = keyof typeof QUEUE_REASONS;

/** Durations counted by size: one count for each bound, in their order, and one for those beyond all. */
export interface DurationFigures {
  counts: number[];
  sum_us: number;
}

/** Runs of an engine, and those that it would take in addition. */
export interface EngineSlots {
  engine: string;
  busy: number;
  free: number;
}

/** The heap of a thread, or of several threads together. */
export interface ThreadInfo {
  thread: string;
  heap_used_bytes: number;
  heap_size_bytes: number;
  heap_limit_bytes: number;
  external_bytes: number;
  /** Delays of the event loop; null until the first scrape, and for threads that another one owns. */
  loop_delay: DurationFigures | null;
}

export interface CoreFigures {
  /** Waiting runs by place. */
  queue: Record<QueuePlace, number>;
  resources: { name: string; total: number; used: number }[];
  engines: { count: number; busy: number; runs: number };
  /** Engines with series of their own, and all others together. */
  engine_slots: EngineSlots[];
  /** Requests of engines that wait for work, and the runs that they would take together. */
  polls: { count: number; slots: number };
  /** Spans of traces that engines have sent to their collector since the core started, and those that they dropped. */
  spans: { exported: number; dropped: number };
  /** How long runs wait for their hand-out, then for the start of their code; how late that is; how long commits take. */
  queue_wait: DurationFigures;
  dispatch: DurationFigures;
  lateness: DurationFigures;
  commit: DurationFigures;
  actors: ActorInfo[];
  threads: ThreadInfo[];
  database_bytes: number;
  wal_bytes: number;
  /** Id, project and name of the flows that get series of their own. */
  flows: [id: number, project: string, name: string][];
}

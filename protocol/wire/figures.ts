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

export interface CoreFigures {
  /** Waiting runs by place. */
  queue: Record<QueuePlace, number>;
  resources: { name: string; total: number; used: number }[];
  engines: { count: number; busy: number; runs: number };
  /** Requests of engines that wait for work, and the runs that they would take together. */
  polls: { count: number; slots: number };
  actors: ActorInfo[];
  database_bytes: number;
  wal_bytes: number;
  /** Id, project and name of the flows that get series of their own. */
  flows: [id: number, project: string, name: string][];
}

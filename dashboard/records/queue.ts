/** Waiting runs and their reasons, from the server; fetched again while a shown run waits. */
import { computed, type ReadonlySignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Queue, QueuedRun } from "#protocol/records/queue";
import { type Query, useQuery } from "../api/query.ts";

const EVERY_MS = 5_000;

export type Waiting = ReadonlyMap<number, QueuedRun>;

export function useQueueQuery(): Query<Queue> {
  return useQuery<Queue>("/api/queue", { live: { "run.updated": true }, everyMs: EVERY_MS });
}

/** The queue, or null until it is known. */
export function useQueue(): Queue | null {
  return useQueueQuery().data;
}

/** Runs of the queue by their id. */
export function waitingById(queue: Queue | null): Waiting {
  return new Map((queue?.runs ?? []).map((run) => [run.run_id, run]));
}

/** Usage of each resource: "4 of 4". */
export function useResourceUse(queue: ReadonlySignal<Queue | null>): ReadonlySignal<ReadonlyMap<string, string>> {
  return useMemo(
    () => computed(() => new Map((queue.value?.resources ?? []).map(({ name, used, total }) => [name, `${used} of ${total}`]))),
    [queue],
  );
}

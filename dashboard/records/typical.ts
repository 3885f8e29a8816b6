/** The usual duration of a flow: the median of its completed runs of a week. */
import type { ReadonlySignal } from "@preact/signals";
import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Stats } from "#protocol/records/stats";
import { shared } from "../api/query.ts";

const WEEK_HOURS = 168;
const MAX_AGE_MS = 300_000;

const stats = shared<Stats>(`/api/stats?hours=${WEEK_HOURS}`, MAX_AGE_MS);

/** Microseconds by flow id; empty until known. */
export function useTypical(): ReadonlySignal<ReadonlyMap<number, number>> {
  const data = stats.use();
  return useMemo(
    () =>
      computed(() => {
        const known = new Map<number, number>();
        for (const { flow_id, duration_p50 } of data.value?.flows ?? [])
          if (duration_p50 !== null) known.set(flow_id, duration_p50);
        return known;
      }),
    [],
  );
}

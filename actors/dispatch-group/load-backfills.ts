/** A backfill from the store. */
import type { LoadedBackfill } from "#storage/load/load";
import type { Backfill } from "../core/state/backfill.ts";

export function toBackfill({ backfill, counts }: LoadedBackfill): Backfill {
  const { extra_parameters, cancelled, cancelled_through, prefiltered, ...fields } = backfill;
  return {
    ...fields,
    extraText: extra_parameters,
    cancelled: cancelled === 1,
    cancelledThrough: cancelled_through,
    prefiltered: prefiltered === 1,
    counts,
  };
}

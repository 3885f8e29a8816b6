/** Backfills from the store. */
import type { LoadedBackfill } from "#storage/load/load";
import type { Backfill } from "../core/state/backfill.ts";
import type { LiveState } from "../core/state/live-state.ts";

/** Loads the backfills of the unfinished runs, which are loaded before, and the open ones, in the order of their ids. */
export function loadBackfills(state: LiveState, open: readonly number[]): void {
  const ids = new Set(open);
  for (const { backfill_id } of state.runs.values()) if (backfill_id !== null) ids.add(backfill_id);
  for (const id of [...ids].sort((a, b) => a - b)) state.findBackfill(id);
}

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

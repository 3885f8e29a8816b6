/** Backfills from the store. */
import { type LoadedBackfill, loadBackfill } from "#storage/load/load";
import type { Statements } from "#storage/sqlite/statements";
import type { Backfill } from "../core/state/backfill.ts";
import type { LiveState } from "../core/state/live-state.ts";

/** The backfills of the unfinished runs, which are loaded before, and the open ones; in order of their ids. */
export function loadBackfills(state: LiveState, open: readonly number[], statements: Statements): void {
  const ids = new Set(open);
  for (const { backfill_id } of state.runs.values()) if (backfill_id !== null) ids.add(backfill_id);
  for (const id of [...ids].sort((a, b) => a - b)) {
    const loaded = loadBackfill(statements, id);
    if (loaded !== null) state.addBackfill(toBackfill(loaded));
  }
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

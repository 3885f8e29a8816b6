/** Backfills from the store. */
import type { LoadedBackfill } from "#storage/load";
import { type Backfill, backfillTag } from "./backfill.ts";
import type { LiveState } from "./live-state.ts";

export function toBackfill({ backfill, counts }: LoadedBackfill): Backfill {
  const { extra_parameters, cancelled, prefiltered, ...fields } = backfill;
  return {
    ...fields,
    extraText: extra_parameters,
    cancelled: cancelled === 1,
    prefiltered: prefiltered === 1,
    counts,
  };
}

/** Takes a backfill in, with the resource its runs go through. */
export function addBackfill(state: LiveState, backfill: Backfill): void {
  state.backfills.add(backfill);
  state.ledger.setTotal(backfillTag(backfill.id), backfill.concurrency);
}

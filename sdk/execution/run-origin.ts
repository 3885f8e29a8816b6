/** Where a run comes from, as its code sees it. */
import type { RunOriginRecord } from "#protocol/records/engine";

export interface RunOrigin {
  /** Attempts before the run was received, those of the runs that it repeats after a crash included. */
  attemptsBefore: number;
  createdBy: string;
  tags: readonly string[];
  /** Microseconds; null without a schedule. */
  fireTimeUs: number | null;
  schedule: { readonly id: number; readonly key: string | null } | null;
  lineage: number | null;
}

/**
 * The origin that the server sent, of which other servers may leave out fields.
 * @param goesOn the attempt, counted in this run, in which the run goes on
 */
export function originOf(record: RunOriginRecord, goesOn = 1): RunOrigin {
  const { attempt = 0, created_by = "", tags = [], fire_time, schedule, lineage_id } = record;
  return {
    // The server has counted those of this run too.
    attemptsBefore: Math.max(0, attempt - (goesOn - 1)),
    createdBy: created_by,
    tags,
    fireTimeUs: fire_time ?? null,
    schedule: schedule ?? null,
    lineage: lineage_id ?? null,
  };
}

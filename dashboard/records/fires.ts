/** Future fires of all schedules, as computed by the server. */
import type { ScheduleRow } from "#protocol/records/schedule";
import type { ScheduleFires } from "#protocol/records/schedule-calendar";
import { withQuery } from "../api/client.ts";
import { type Query, useQuery } from "../api/query.ts";

/** Fires pass even when nothing changes. */
const EVERY_MS = 60_000;

export function useFires(limit: number, before: number | null = null): Query<ScheduleFires[]> {
  return useQuery<ScheduleFires[]>(withQuery("/api/schedules/fires", { limit, before }), {
    live: { "schedule.updated": true },
    everyMs: EVERY_MS,
  });
}

/** The next `limit` fires of one schedule; null until they are known, and while it is paused. */
export function useFiresOf({ id }: ScheduleRow, limit: number): ScheduleFires | null {
  const path = withQuery("/api/schedules/fires", { schedule_id: id, limit });
  const query = useQuery<ScheduleFires[]>(path, { live: { "schedule.updated": true }, everyMs: EVERY_MS });
  return query.stale ? null : (query.data?.[0] ?? null);
}

export interface Fire {
  time: number;
  of: ScheduleFires;
  /** Who skipped the fire; null if it will run. */
  skippedBy: string | null;
  /** A run exists for the fire: the look-ahead creates the next three of each schedule. */
  hasRun: boolean;
}

const LOOK_AHEAD = 3;

/** The fires of all schedules in order of time. */
export function inOrder(schedules: readonly ScheduleFires[]): Fire[] {
  const fires = schedules.flatMap((of) => {
    const skipped = new Map(of.skipped.map(({ fire, by }) => [fire, by]));
    return of.fires.map((time, index): Fire => ({ time, of, skippedBy: skipped.get(time) ?? null, hasRun: index < LOOK_AHEAD }));
  });
  return fires.sort((a, b) => a.time - b.time || a.of.schedule_id - b.of.schedule_id);
}

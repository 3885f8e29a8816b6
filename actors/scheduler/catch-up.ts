/** Fires that were missed: which there are, and which of them the catch-up policy of the schedule still runs. */
import type { Schedule } from "../live-state/schedule.ts";

/** Missed fires looked at, newest first: every minute of two months. Older ones are dropped uncounted. */
const MISSED_COUNTED_MAX = 100_000;
/** Fires looked at first: mostly one is due. While all of those are, more are looked at. */
const FIRST_COUNT = 2;

/** Fires after the last decided one up to now, in order; the newest where there are too many. */
export function dueFires(schedule: Schedule, nowUs: number): number[] {
  const { fires, consumed_until } = schedule;
  for (let count = FIRST_COUNT; count < MISSED_COUNTED_MAX; count *= 8) {
    const found = fires.after(consumed_until, count);
    const due = upTo(nowUs, found);
    if (due.length < count) return due;
  }
  return newest(schedule, nowUs, consumed_until);
}

/** Perhaps too many in a stretch: halves it until they fit. */
function newest(schedule: Schedule, nowUs: number, fromUs: number): number[] {
  for (let from = fromUs; ; from = Math.ceil((from + nowUs) / 2)) {
    const found = upTo(nowUs, schedule.fires.after(from, MISSED_COUNTED_MAX));
    if (found.length < MISSED_COUNTED_MAX || nowUs - from < 2) return found;
  }
}

function upTo(endUs: number, fires: number[]): number[] {
  const end = fires.findIndex((fire) => fire > endUs);
  return end < 0 ? fires : fires.slice(0, end);
}

/** The missed fires that are still run: none, the newest, or the newest `catchup_max`. */
export function chooseCaughtUp(schedule: Schedule, missed: readonly number[]): number[] {
  switch (schedule.catchup) {
    case "skip":
      return [];
    case "latest":
      return missed.slice(-1);
    case "all":
      return schedule.catchup_max === 0 ? [] : missed.slice(-schedule.catchup_max);
  }
}

/** Missed fires: which fires were missed, and which of them still run under the schedule's catch-up policy. */
import type { Schedule } from "../../core/state/schedule.ts";

/**
 * Maximum of missed fires considered, newest first: every minute of two months. Older fires are dropped without being
 * counted.
 */
const MISSED_COUNTED_MAX = 100_000;
/** Fires read first, since usually one is due. If all of them are due, more are read. */
const FIRST_COUNT = 2;

/** Fires after the last decided one up to now, in order; only the newest if there are too many. */
export function dueFires(schedule: Schedule, nowUs: number): number[] {
  const { fires, consumed_until } = schedule;
  for (let count = FIRST_COUNT; count < MISSED_COUNTED_MAX; count *= 8) {
    const found = fires.after(consumed_until, count);
    const due = upTo(nowUs, found);
    if (due.length < count) return due;
  }
  return newest(schedule, nowUs, consumed_until);
}

/** A range may contain too many fires: halve it until they fit. */
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

/** The missed fires that still run: none, the newest, or the newest `catchup_max`. */
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

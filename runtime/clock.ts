/** The only source of time, so that a simulation can replace it. */
import { uptime } from "node:os";

/** Wall time for what people and schedules see, monotonic time for waiting. */
export interface Clock {
  /** Microseconds since the Unix epoch, UTC. May step backwards. */
  nowUs(): number;
  /** Microseconds since an arbitrary start. Never steps. */
  monotonicUs(): number;
}

/**
 * performance.now() does not follow steps of the wall clock, so the difference between the two is measured again at this
 * interval.
 */
const OFFSET_REFRESH_MS = 1000;

/**
 * The system clock in microseconds; follows steps of the wall clock within a second. A thread has one such clock: two would
 * notice a step at different moments, and a due time read from one would be compared with the other.
 */
export const systemClock: Clock = createSystemClock();

function createSystemClock(): Clock {
  let offsetMs = Date.now() - performance.now();
  let measuredMs = performance.now();
  return {
    nowUs: () => {
      const elapsedMs = performance.now();
      if (elapsedMs - measuredMs > OFFSET_REFRESH_MS) {
        measuredMs = elapsedMs;
        const measuredOffsetMs = Date.now() - elapsedMs;
        // Date.now() has whole milliseconds: only a larger difference is a step of the clock.
        if (Math.abs(measuredOffsetMs - offsetMs) > 2) offsetMs = measuredOffsetMs;
      }
      return Math.round((offsetMs + elapsedMs) * 1000);
    },
    monotonicUs: () => Math.round(performance.now() * 1000),
  };
}

/** Uptime of the process, the same on each of its threads; excludes time in which the machine sleeps. */
export function processUptimeUs(): number {
  return Math.round(process.uptime() * 1e6);
}

/**
 * Uptime of the machine, sleep included, by a clock that cannot be set. The system reports it in steps of a hundredth of a
 * second to one second; a call costs some microseconds.
 */
export function bootTimeUs(): number {
  return Math.round(uptime() * 1e6);
}

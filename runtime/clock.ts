/** Time and ids enter the system here and nowhere else, so that a simulation can replace both. */
import { uptime } from "node:os";

/** Two clocks: wall time for what people and schedules see, monotonic time for waiting. */
export interface Clock {
  /** Microseconds since the Unix epoch, UTC. May step backwards. */
  nowUs(): number;
  /** Microseconds since an arbitrary start. Never steps. */
  monotonicUs(): number;
}

/** The process clock does not follow steps of the wall clock, so their difference is measured again at this interval. */
const OFFSET_REFRESH_MS = 1000;

/** The system clock with microsecond steps that follows changes of the wall clock within a second. */
export function createSystemClock(): Clock {
  let offsetMs = Date.now() - performance.now();
  let measuredMs = performance.now();
  return {
    nowUs: () => {
      const elapsedMs = performance.now();
      if (elapsedMs - measuredMs > OFFSET_REFRESH_MS) {
        measuredMs = elapsedMs;
        const measuredOffsetMs = Date.now() - elapsedMs;
        // Date.now() has whole milliseconds: only a difference above that is a step of the clock.
        if (Math.abs(measuredOffsetMs - offsetMs) > 2) offsetMs = measuredOffsetMs;
      }
      return Math.round((offsetMs + elapsedMs) * 1000);
    },
    monotonicUs: () => Math.round(performance.now() * 1000),
  };
}

/** How long this process has been up, on whichever of its threads it is asked. Time in which the machine sleeps is none of it. */
export function processUptimeUs(): number {
  return Math.round(process.uptime() * 1e6);
}

/**
 * How long the machine has been up, time in which it sleeps included, by a clock that nobody sets. In steps of a hundredth of a second
 * to one second, as the system tells it; costs some microseconds.
 */
export function bootTimeUs(): number {
  return Math.round(uptime() * 1e6);
}

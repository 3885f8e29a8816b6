/**
 * Intervals: multiples of a length from an anchor. Whole days keep the anchor's time of day in the zone across clock changes;
 * any other length is elapsed time, independent of the wall clock.
 */
import { DAY_US } from "./calendar.ts";
import { type Fires, momentsOf, type WallTimes } from "./fires.ts";
import type { Zone } from "./zone.ts";

/** Shortest interval that can be computed, because fires are whole microseconds. */
const STEP_US_MIN = 1_000;

export function intervalFires(seconds: number, anchorUs: number, zone: Zone): Fires {
  const stepUs = Math.max(STEP_US_MIN, Math.round(seconds * 1e6));
  return stepUs % DAY_US === 0 ? new DayFires(stepUs, anchorUs, zone) : new ElapsedFires(stepUs, anchorUs, zone.name);
}

class ElapsedFires implements Fires {
  readonly timezone: string;
  readonly #stepUs: number;
  readonly #anchorUs: number;

  constructor(stepUs: number, anchorUs: number, timezone: string) {
    this.#stepUs = stepUs;
    this.#anchorUs = anchorUs;
    this.timezone = timezone;
  }

  after(us: number, count: number): number[] {
    const passed = us < this.#anchorUs ? 0 : Math.floor((us - this.#anchorUs) / this.#stepUs) + 1;
    const first = this.#anchorUs + passed * this.#stepUs;
    return Array.from({ length: count }, (_, index) => first + index * this.#stepUs).filter(Number.isSafeInteger);
  }
}

class DayFires implements Fires {
  readonly timezone: string;
  readonly #anchorUs: number;
  readonly #zone: Zone;
  readonly #times: WallTimes;
  readonly #stepUs: number;

  constructor(stepUs: number, anchorUs: number, zone: Zone) {
    this.#anchorUs = anchorUs;
    this.#zone = zone;
    this.#stepUs = stepUs;
    this.timezone = zone.name;
    const anchorWall = zone.wallAt(anchorUs);
    this.#times = {
      repeats: false,
      between: (from, to, count) => {
        const found: number[] = [];
        let wall = anchorWall + Math.max(0, Math.ceil((from - anchorWall) / stepUs)) * stepUs;
        for (; wall < to && found.length < count; wall += stepUs) found.push(wall);
        return found;
      },
    };
  }

  after(us: number, count: number): number[] {
    if (us >= this.#anchorUs) return this.#walk(us, count);
    // The anchor is itself a fire, even if its wall time occurs twice.
    return count === 0 ? [] : [this.#anchorUs, ...this.#walk(this.#anchorUs, count - 1)];
  }

  #walk(us: number, count: number): number[] {
    const reachUs = (count + 2) * this.#stepUs;
    return momentsOf(this.#times, this.#zone, us, count, Math.min(us + reachUs, Number.MAX_SAFE_INTEGER - reachUs));
  }
}

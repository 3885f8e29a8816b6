/**
 * Fires of a schedule in order: the interface of all kinds of schedules, and the conversion of wall times into moments.
 *
 * The policy for clock changes (docs/SEMANTICS.md): a fixed wall time in a gap fires once, at the first moment after the gap;
 * a wall time that occurs twice fires the first time. Repeating times (steps and wildcards) are skipped in a gap, and fire
 * twice where the clock repeats.
 */
import type { Zone } from "./zone.ts";

/** Search range for fires: leap days are at most 8 years apart, and fall on the same weekday again within 40 years. */
export const HORIZON_US = 41 * 366 * 86_400_000_000;

const HOUR_US = 3_600_000_000;

/** The fires of one schedule. Moments are microseconds since the Unix epoch. */
export interface Fires {
  /** The zone of the wall times. */
  readonly timezone: string;
  /** Up to `count` fires after a moment, in order; fewer if there are no more. */
  after(us: number, count: number): number[];
}

/** Wall times of a rule, as if they were UTC. */
export interface WallTimes {
  /** True for times that repeat with the clock, false for fixed times. */
  readonly repeats: boolean;
  /** Up to `count` times from `from` until before `to`, in order. */
  between(from: number, to: number, count: number): number[];
}

/** The moments at which a clock in `zone` shows these times: up to `count` after `us` and before `endUs`. */
export function momentsOf(times: WallTimes, zone: Zone, us: number, count: number, endUs = us + HORIZON_US): number[] {
  const found: number[] = [];
  let cursor = us + 1;
  while (cursor < endUs && found.length < count) {
    const stretch = zone.stretchAt(cursor);
    const { start, offset, before } = stretch;
    const end = Math.min(stretch.end, endUs);
    if (!times.repeats && cursor === start && before < offset && times.between(start + before, start + offset, 1).length > 0) {
      found.push(start);
      cursor += 1;
    }
    const from = times.repeats ? cursor + offset : Math.max(cursor + offset, start + before);
    for (const wall of times.between(from, end + offset, count - found.length)) found.push(wall - offset);
    cursor = end;
  }
  return found;
}

/** Fires computed at a time: a walk for a hundred costs little more than a walk for one. */
const BATCH_COUNT = 100;
/** Maximum of cached fires per schedule; larger requests occur once, after a long pause. */
const REMEMBERED_MAX = 1_000;

/** Caches the last computed fires, because the same few fires of a schedule are requested again and again. */
export class RememberedFires implements Fires {
  readonly timezone: string;
  readonly #fires: Fires;
  /** Every fire after `#from`, in order, through the last cached one; `#complete` when no further fires exist. */
  #known: number[] = [];
  #from = 0;
  #complete = false;
  #asked = false;

  constructor(fires: Fires) {
    this.timezone = fires.timezone;
    this.#fires = fires;
  }

  /** The uncached rule, for distant fires: caching those would evict the next ones. */
  get rule(): Fires {
    return this.#fires;
  }

  after(us: number, count: number): number[] {
    if (count <= 0) return [];
    if (count > REMEMBERED_MAX) return this.#fires.after(us, count);
    const last = this.#known.at(-1) ?? this.#from;
    if (!this.#asked || us < this.#from || (us > last && !this.#complete)) this.#compute(us, count);
    let start = this.#position(us);
    if (this.#known.length - start < count && !this.#complete) {
      this.#compute(us, count);
      start = 0;
    }
    return this.#known.slice(start, start + count);
  }

  #compute(us: number, count: number): void {
    const wanted = count + BATCH_COUNT;
    this.#known = this.#fires.after(us, wanted);
    this.#from = us;
    this.#complete = this.#known.length < wanted;
    this.#asked = true;
  }

  /** Index of the first cached fire after a moment. */
  #position(us: number): number {
    let low = 0;
    let high = this.#known.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#known[middle] as number) > us) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** The next fire after a moment, or null. */
export function nextFire(fires: Fires, us: number): number | null {
  return fires.after(us, 1)[0] ?? null;
}

/** The first fire of each hour (UTC) that has one, after the hour of `us` and before `before`; at most `count`. */
export function hourlyAfter(fires: Fires, us: number, before: number, count: number): number[] {
  const rule = fires instanceof RememberedFires ? fires.rule : fires;
  const found: number[] = [];
  let hour = us;
  while (found.length < count) {
    const fire = nextFire(rule, (Math.floor(hour / HOUR_US) + 1) * HOUR_US - 1);
    if (fire === null || fire >= before) break;
    found.push(fire);
    hour = fire;
  }
  return found;
}

export function isFire(fires: Fires, us: number): boolean {
  return nextFire(fires, us - 1) === us;
}

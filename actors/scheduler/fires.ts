/**
 * Fires of a schedule in order: what every kind of schedule offers, and the walk that turns wall times into moments.
 *
 * The policy for clock changes (docs/SEMANTICS.md): a fixed wall time that falls into a gap fires once, at the first moment
 * after it; one that comes twice fires at its first coming. Times that repeat with the clock (steps and wildcards) are left
 * out in a gap and come twice where the clock does.
 */
import type { Zone } from "./zone.ts";

/** How far ahead fires are looked for: leap days are at most 8 years apart, and weekdays repeat on them within 40. */
export const HORIZON_US = 41 * 366 * 86_400_000_000;

const HOUR_US = 3_600_000_000;

/** The fires of one schedule. Moments are microseconds since the Unix epoch. */
export interface Fires {
  /** The zone the times are meant in. */
  readonly timezone: string;
  /** Up to `count` fires after a moment, in order. Fewer when there are no more. */
  after(us: number, count: number): number[];
}

/** Wall times of a rule, as if they were UTC. */
export interface WallTimes {
  /** True when the times repeat with the clock instead of being fixed. */
  readonly repeats: boolean;
  /** Up to `count` times from `from` on and before `to`, in order. */
  between(from: number, to: number, count: number): number[];
}

/** Moments at which a clock in `zone` shows these times: up to `count` after `us` and before `endUs`. */
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

/** Fires are computed this many at a time: one walk costs little more for a hundred than for one. */
const BATCH_COUNT = 100;
/** Fires remembered for one schedule; who asks for more asks once, after a long pause. */
const REMEMBERED_MAX = 1_000;

/** Remembers the fires last computed, because a schedule is asked for the same few again and again. */
export class RememberedFires implements Fires {
  readonly timezone: string;
  readonly #fires: Fires;
  /** Every fire after `#from`, in order, up to the last one here; `#complete` when there are no more. */
  #known: number[] = [];
  #from = 0;
  #complete = false;
  #asked = false;

  constructor(fires: Fires) {
    this.timezone = fires.timezone;
    this.#fires = fires;
  }

  /** The rule itself, for far fires: to remember them would forget the next ones. */
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

  /** Index of the first known fire after a moment. */
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

/** The first fire of each hour (of UTC) that has one, after the hour of a moment and before another; at most `count`. */
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

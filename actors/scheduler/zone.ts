/**
 * Time zones as stretches of constant offset.
 *
 * Everything that fires by a wall clock walks these stretches: inside one, wall time and real time run side by side, so a gap
 * or an overlap of the clock can only lie between two of them. Offsets come from luxon; a stretch is found once and kept.
 * Nothing here depends on the zone of the process.
 */
import { IANAZone } from "luxon";
import { DAY_US } from "./calendar.ts";

/** A stretch of real time, in microseconds: from `start` up to but not including `end`. */
export interface Stretch {
  start: number;
  end: number;
  /** What is added to real time to get wall time. */
  offset: number;
  /** The offset just before `start`. */
  before: number;
}

/** Zones that change twice within a day and back are unknown, so a daily look sees every change. */
const PROBE_US = DAY_US;
/** Stretches are found a good year at a time. */
const CHUNK_US = 400 * DAY_US;
/** How much is known before the first moment asked for: a gap may move a fire by up to a day. */
const MARGIN_US = 3 * DAY_US;
/** Changes happen on whole seconds. */
const SECOND_US = 1_000_000;

const ZONES = new Map<string, Zone>();

/** The zone of an IANA name, or null when there is none. */
export function findZone(name: string): Zone | null {
  const known = ZONES.get(name);
  if (known !== undefined) return known;
  // Offsets such as "+02:00" are no names: they would hide that a zone has clock changes.
  if (!/^[A-Za-z]/.test(name) || !IANAZone.isValidZone(name)) return null;
  const zone = new Zone(name);
  ZONES.set(name, zone);
  return zone;
}

export class Zone {
  readonly name: string;
  readonly #zone: IANAZone;
  readonly #stretches: Stretch[] = [];

  constructor(name: string) {
    this.name = name;
    this.#zone = IANAZone.create(name);
  }

  /** The stretch that holds a moment. Its `end` may move on later, when more of the zone is looked at. */
  stretchAt(us: number): Stretch {
    this.#cover(us);
    let low = 0;
    let high = this.#stretches.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#stretches[middle] as Stretch).start <= us) low = middle;
      else high = middle - 1;
    }
    return this.#stretches[low] as Stretch;
  }

  /** Wall time at a moment, as if it were UTC. */
  wallAt(us: number): number {
    return us + this.stretchAt(us).offset;
  }

  /** The first moment at which the clock shows a wall time; for one in a gap, the first moment after the gap. */
  momentOf(wallUs: number): number {
    // No zone is further from UTC than this, so the walk starts before the moment and ends soon after it.
    let stretch = this.stretchAt(wallUs - MARGIN_US);
    for (;;) {
      if (wallUs < stretch.end + stretch.offset) return Math.max(stretch.start, wallUs - stretch.offset);
      stretch = this.stretchAt(stretch.end);
    }
  }

  #cover(us: number): void {
    const first = this.#stretches[0];
    if (first === undefined) {
      const start = Math.floor((us - MARGIN_US) / DAY_US) * DAY_US;
      const offset = this.#offsetAt(start);
      this.#stretches.push({ start, end: start + SECOND_US, offset, before: offset });
      this.#settle(start + SECOND_US, start + PROBE_US, this.#stretches);
    } else if (us - MARGIN_US < first.start) {
      this.#coverBefore(first, us);
    }
    for (let last = this.#last(); us >= last.end; last = this.#last()) {
      this.#settle(last.end, last.end + CHUNK_US, this.#stretches);
    }
  }

  #coverBefore(first: Stretch, us: number): void {
    const start = Math.floor((Math.min(us, first.start - CHUNK_US) - MARGIN_US) / DAY_US) * DAY_US;
    const offset = this.#offsetAt(start);
    const earlier: Stretch[] = [{ start, end: start + SECOND_US, offset, before: offset }];
    this.#settle(start + SECOND_US, first.start, earlier);
    const last = earlier.at(-1) as Stretch;
    if (last.offset === first.offset) {
      // One stretch that was found in two parts.
      first.start = last.start;
      first.before = last.before;
      earlier.pop();
    } else {
      first.before = last.offset;
    }
    this.#stretches.unshift(...earlier);
  }

  /** Adds what lies between two moments to a list that ends at the first. */
  #settle(from: number, to: number, stretches: Stretch[]): void {
    for (let at = from; at < to; ) {
      const next = Math.min(at + PROBE_US, to);
      const last = stretches.at(-1) as Stretch;
      // The moment `next` itself belongs to the following look.
      const offset = this.#offsetAt(next - SECOND_US);
      if (offset === last.offset) {
        last.end = next;
        at = next;
        continue;
      }
      const change = this.#changeBetween(at - SECOND_US, next - SECOND_US, last.offset);
      last.end = change;
      stretches.push({ start: change, end: change + SECOND_US, offset: this.#offsetAt(change), before: last.offset });
      at = change + SECOND_US;
    }
  }

  #last(): Stretch {
    return this.#stretches.at(-1) as Stretch;
  }

  /** The first second with another offset; the offset at `low` is `before`, that at `high` is not. */
  #changeBetween(low: number, high: number, before: number): number {
    let below = low / SECOND_US;
    let above = high / SECOND_US;
    while (above - below > 1) {
      const middle = Math.floor((below + above) / 2);
      if (this.#offsetAt(middle * SECOND_US) === before) below = middle;
      else above = middle;
    }
    return above * SECOND_US;
  }

  #offsetAt(us: number): number {
    return Math.round(this.#zone.offset(us / 1000) * 60) * SECOND_US;
  }
}

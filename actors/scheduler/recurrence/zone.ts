/**
 * Time zones as stretches of constant offset.
 *
 * Everything that fires by a wall clock walks these stretches: within one, wall time and real time advance together, so a gap
 * or an overlap can only occur between two. Offsets come from luxon; each stretch is computed once and cached. The zone of
 * the process is not used.
 */
import { IANAZone } from "luxon";
import { DAY_US } from "./calendar.ts";

/** A stretch of real time, in microseconds, from `start` until before `end`. */
export interface Stretch {
  start: number;
  end: number;
  /** Added to real time, gives wall time. */
  offset: number;
  /** The offset immediately before `start`. */
  before: number;
}

/** No zone changes twice within a week (all zones, 1970 to 2070), so probes at this distance miss no change. */
const PROBE_US = 4 * DAY_US;
/** Stretches are computed for this many days at a time, on demand: an old rule does not compute the years in between. */
const CHUNK_US = 400 * DAY_US;
/** Maximum that wall time may be ahead of real time: a gap may move a fire by up to a day. */
const MARGIN_US = 3 * DAY_US;
/** Offsets change at whole seconds. */
const SECOND_US = 1_000_000;

const ZONES = new Map<string, Zone>();

/** The zone of an IANA name, or null. */
export function findZone(name: string): Zone | null {
  const known = ZONES.get(name);
  if (known !== undefined) return known;
  // Offsets such as "+02:00" are no zone names: they would hide that a zone has clock changes.
  if (!/^[A-Za-z]/.test(name) || !IANAZone.isValidZone(name)) return null;
  const zone = new Zone(name);
  ZONES.set(name, zone);
  return zone;
}

export class Zone {
  readonly name: string;
  readonly #zone: IANAZone;
  /** The stretches of each chunk of time, cut at the chunk's ends. */
  readonly #chunks = new Map<number, Stretch[]>();

  constructor(name: string) {
    this.name = name;
    this.#zone = IANAZone.create(name);
  }

  /** The stretch that contains a moment, cut at the ends of its chunk; the next stretch may then have the same offset. */
  stretchAt(us: number): Stretch {
    const stretches = this.#chunkAt(us);
    let low = 0;
    let high = stretches.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((stretches[middle] as Stretch).start <= us) low = middle;
      else high = middle - 1;
    }
    return stretches[low] as Stretch;
  }

  /** Wall time at a moment, as microseconds as if in UTC. */
  wallAt(us: number): number {
    return us + this.stretchAt(us).offset;
  }

  /** The first moment at which the clock shows a wall time; in a gap, the first moment after the gap. */
  momentOf(wallUs: number): number {
    // No zone is further from UTC than this, so the walk starts before the moment and ends soon after.
    let stretch = this.stretchAt(wallUs - MARGIN_US);
    for (;;) {
      if (wallUs < stretch.end + stretch.offset) return Math.max(stretch.start, wallUs - stretch.offset);
      stretch = this.stretchAt(stretch.end);
    }
  }

  #chunkAt(us: number): Stretch[] {
    const chunk = Math.floor(us / CHUNK_US);
    const known = this.#chunks.get(chunk);
    if (known !== undefined) return known;
    const found = this.#stretchesBetween(chunk * CHUNK_US, (chunk + 1) * CHUNK_US);
    this.#chunks.set(chunk, found);
    return found;
  }

  #stretchesBetween(start: number, end: number): Stretch[] {
    const before = this.#offsetAt(start - SECOND_US);
    const stretches: Stretch[] = [{ start, end, offset: this.#offsetAt(start), before }];
    for (let at = start; at < end; at += PROBE_US) {
      const next = Math.min(at + PROBE_US, end - SECOND_US);
      const offset = this.#offsetAt(next);
      const last = stretches.at(-1) as Stretch;
      if (offset === last.offset) continue;
      const change = this.#changeBetween(Math.max(at, last.start), next, last.offset);
      last.end = change;
      stretches.push({ start: change, end, offset, before: last.offset });
    }
    return stretches;
  }

  /** The first second with another offset; the offset at `low` equals `before`, that at `high` does not. */
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

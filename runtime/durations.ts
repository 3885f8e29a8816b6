/** Durations counted by size, as a histogram of Prometheus wants them. An added duration costs a search in a short list. */

/** Upper bounds of the sizes, microseconds: from a hop between threads to an hour. */
export const DURATION_BOUNDS_US: readonly number[] = [
  ...[100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000],
  ...[1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600].map((seconds) => seconds * 1e6),
];

export class Durations {
  /** By the first bound that is not exceeded; the last entry counts those beyond all bounds. */
  readonly #counts: number[] = [...DURATION_BOUNDS_US, Number.POSITIVE_INFINITY].map(() => 0);
  #sumUs = 0;

  /** A negative duration, measured by a clock that was set back, counts as 0. */
  add(us: number): void {
    const size = DURATION_BOUNDS_US.findIndex((bound) => us <= bound);
    const at = size === -1 ? DURATION_BOUNDS_US.length : size;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#sumUs += Math.max(0, us);
  }

  figures(): { counts: number[]; sum_us: number } {
    return { counts: [...this.#counts], sum_us: this.#sumUs };
  }
}

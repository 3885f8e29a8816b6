/** Collects measured values and computes exact quantiles: all values are kept and sorted. */

const FIRST_CAPACITY = 1_024;

export class Samples {
  #values = new Float64Array(FIRST_CAPACITY);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count++] = value;
  }

  /** The smallest value that at least the given share of all values does not exceed (nearest rank); null without values. */
  quantiles(shares: readonly number[]): (number | null)[] {
    const sorted = this.#values.slice(0, this.#count).sort();
    return shares.map((share) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null);
  }
}

/** Middle value, or the mean of the two middle values; null for an empty list. */
export function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  return upper === undefined || lower === undefined ? null : (upper + lower) / 2;
}

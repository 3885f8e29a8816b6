/** The only source of randomness in a simulation: everything that varies follows from its seed. */

export class Random {
  #state: number;

  constructor(seed: number) {
    // Neighbouring seeds must not produce similar sequences.
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
    for (let round = 0; round < 4; round += 1) this.next();
  }

  /** Uniform in [0, 1); the generator is mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  /** An integer from 0 to `count` - 1. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** An integer from `least` to `most`. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  /** One of the keys, with probability proportional to its weight. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of entries) {
      left -= weight;
      if (left < 0) return key;
    }
    return (entries[0] as [K, number])[0];
  }

  /** A delay with this mean, in microseconds: many short, some long. */
  delayUs(meanUs: number): number {
    return Math.ceil(-Math.log(1 - this.next()) * meanUs) + 1;
  }

  /** A UUID of version 7 with the caller's time. */
  uuid(nowUs: number): string {
    const millis = Math.floor(nowUs / 1000)
      .toString(16)
      .padStart(12, "0");
    const hex = (digits: number): string =>
      this.below(16 ** digits)
        .toString(16)
        .padStart(digits, "0");
    return `${millis.slice(0, 8)}-${millis.slice(8)}-7${hex(3)}-8${hex(3)}-${hex(6)}${hex(6)}`;
  }
}

/** A seeded generator (mulberry32): the same seed gives the same sequence of runs, texts and ids on every machine. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Integer below `bound`. */
  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  }
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** UUID version 7 from the time in milliseconds, its other bits from `random`. */
export function uuidV7(random: SeededRandom, nowMs: number): string {
  const time = Math.floor(nowMs).toString(16).padStart(12, "0");
  const hex = (byte: number) => HEX[byte] ?? "00";
  const word = () => {
    const bits = random.below(0x1_0000);
    return hex(bits >>> 8) + hex(bits & 0xff);
  };
  const version = hex(0x70 | random.below(16)) + hex(random.below(256));
  const variant = hex(0x80 | random.below(64)) + hex(random.below(256));
  return `${time.slice(0, 8)}-${time.slice(8)}-${version}-${variant}-${word()}${word()}${word()}`;
}

/**
 * Recognises user code that leaks memory: after a full garbage collection it holds much more than after its first runs, and still
 * does when all runs have ended that executed when that was seen first. Memory that a long run needs is no growth.
 */

const MB = 1_000_000;

export class MemoryGrowth<Run extends object> {
  readonly #limitBytes: number;
  #collections = 0;
  /** Held after the first runs; null before. */
  #firstBytes: number | null = null;
  /** The runs that executed when the growth was seen first; null while there is none. */
  #suspects: readonly Run[] | null = null;

  /** @param limitMb growth in MB from which an engine is replaced; 0 for any */
  constructor(limitMb: number) {
    this.#limitBytes = limitMb === 0 ? Number.POSITIVE_INFINITY : limitMb * MB;
  }

  /**
   * Why the engine is to be replaced, or null.
   * @param held what was held after the latest of so many collections
   * @param runs the runs that execute now
   * @param ended whether a run has ended since the thread started
   */
  look({ collections, bytes }: { collections: number; bytes: number }, runs: ReadonlySet<Run>, ended: boolean): string | null {
    if (collections === this.#collections || !ended) return null;
    this.#collections = collections;
    this.#firstBytes = Math.min(this.#firstBytes ?? bytes, bytes);
    if (bytes - this.#firstBytes < this.#limitBytes) this.#suspects = null;
    else if (this.#suspects === null) this.#suspects = [...runs];
    else if (!this.#suspects.some((run) => runs.has(run))) return reasonOf(this.#firstBytes, bytes);
    return null;
  }

  /** The thread is new, and its memory with it. */
  reset(): void {
    this.#firstBytes = null;
    this.#suspects = null;
  }
}

function reasonOf(firstBytes: number, bytes: number): string {
  const [first, now] = [firstBytes, bytes].map((each) => Math.round(each / MB));
  return `its code holds ${now} MB after a garbage collection, and held ${first} MB after its first runs (engine_growth_mb)`;
}

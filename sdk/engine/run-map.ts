/**
 * A map of runs under way that keeps nothing of a run once the run is removed.
 *
 * A Map alone would: V8 gives it a new table from time to time, and a former table in the old generation keeps what it held until the
 * next full collection (docs/adr/0047-no-rewritten-maps-on-hot-paths.md). Here a former table keeps an empty entry.
 */

interface Entry<Value> {
  value: Value | undefined;
}

export class RunMap<Value> {
  readonly #entries = new Map<number, Entry<Value>>();

  get size(): number {
    return this.#entries.size;
  }

  has(run: number): boolean {
    return this.#entries.has(run);
  }

  get(run: number): Value | undefined {
    return this.#entries.get(run)?.value;
  }

  /** Replaces the value of a run that is in the map. */
  set(run: number, value: Value): void {
    const known = this.#entries.get(run);
    if (known === undefined) this.#entries.set(run, { value });
    else known.value = value;
  }

  delete(run: number): void {
    const entry = this.#entries.get(run);
    if (entry === undefined) return;
    entry.value = undefined;
    this.#entries.delete(run);
  }

  clear(): void {
    for (const entry of this.#entries.values()) entry.value = undefined;
    this.#entries.clear();
  }

  /** In the order in which the runs were added. */
  runs(): IterableIterator<number> {
    return this.#entries.keys();
  }

  /** In the same order; without those that are removed while the values are read. */
  *values(): Generator<Value> {
    for (const { value } of this.#entries.values()) if (value !== undefined) yield value;
  }
}

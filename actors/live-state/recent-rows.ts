/** Rows that live in the store, with what was decided about them and is not committed yet in front. */

export class RecentRows<Key, Row> {
  readonly #read: (key: Key) => Row | null;
  readonly #recent = new Map<Key, { row: Row | null; turn: number }>();

  /** `read` finds a committed row. */
  constructor(read: (key: Key) => Row | null) {
    this.#read = read;
  }

  /** The row as it is after everything decided so far, or null. */
  find(key: Key): Row | null {
    const recent = this.#recent.get(key);
    return recent === undefined ? this.#read(key) : recent.row;
  }

  /** Notes what step `turn` made of a row; null when it deleted it. */
  put(key: Key, row: Row | null, turn: number): void {
    // Put last: the entries stay in the order of their steps.
    this.#recent.delete(key);
    this.#recent.set(key, { row, turn });
  }

  /** True while some row is in the making for which this holds. */
  some(test: (row: Row) => boolean): boolean {
    return [...this.#recent.values()].some(({ row }) => row !== null && test(row));
  }

  /** Drops what the store knows by now. */
  trim(committedTurn: number): void {
    for (const [key, { turn }] of this.#recent) {
      if (turn > committedTurn) break;
      this.#recent.delete(key);
    }
  }
}

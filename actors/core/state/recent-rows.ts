/** Stored rows, overlaid by decisions that are not yet committed. */

export class RecentRows<Key, Row> {
  readonly #read: (key: Key) => Row | null;
  readonly #recent = new Map<Key, { row: Row | null; turn: number }>();

  /** `read` finds a committed row. */
  constructor(read: (key: Key) => Row | null) {
    this.#read = read;
  }

  /** The row after all decisions so far, or null. */
  find(key: Key): Row | null {
    const recent = this.#recent.get(key);
    return recent === undefined ? this.#read(key) : recent.row;
  }

  /** Records the row as decided in step `turn`; null for a deletion. */
  put(key: Key, row: Row | null, turn: number): void {
    // Re-insert at the end: entries stay in the order of their steps.
    this.#recent.delete(key);
    this.#recent.set(key, { row, turn });
  }

  /** True while an uncommitted row satisfies the test. */
  some(test: (row: Row) => boolean): boolean {
    return [...this.#recent.values()].some(({ row }) => row !== null && test(row));
  }

  /** Drops the rows that are committed. */
  trim(committedTurn: number): void {
    for (const [key, { turn }] of this.#recent) {
      if (turn > committedTurn) break;
      this.#recent.delete(key);
    }
  }
}

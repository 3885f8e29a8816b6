/** Stored rows, overlaid by decisions that are not yet committed. */

export class RecentRows<Key, Row> {
  readonly #read: (key: Key) => Row | null;
  readonly #identify: (key: Key) => unknown;
  readonly #recent = new Map<unknown, { row: Row | null; turn: number }>();

  /** `read` finds a committed row; `identify` gives equal keys the same primitive value, if keys are objects. */
  constructor(read: (key: Key) => Row | null, identify: (key: Key) => unknown = (key) => key) {
    this.#read = read;
    this.#identify = identify;
  }

  /** The row after all decisions so far, or null. */
  find(key: Key): Row | null {
    const recent = this.#recent.get(this.#identify(key));
    return recent === undefined ? this.#read(key) : recent.row;
  }

  /** Records the row as decided in step `turn`; null for a deletion. */
  put(key: Key, row: Row | null, turn: number): void {
    // Re-insert at the end: entries stay in the order of their steps.
    const identity = this.#identify(key);
    this.#recent.delete(identity);
    this.#recent.set(identity, { row, turn });
  }

  /** True while an uncommitted row satisfies the test. */
  some(test: (row: Row) => boolean): boolean {
    return [...this.#recent.values()].some(({ row }) => row !== null && test(row));
  }

  /** Drops the rows that are committed. */
  trim(committedTurn: number): void {
    for (const [identity, { turn }] of this.#recent) {
      if (turn > committedTurn) break;
      this.#recent.delete(identity);
    }
  }
}

/** The order in which an attempt gets the stored outcomes. */

interface Waiting {
  atUs: number;
  /** Resolves when the outcome has been read; later outcomes wait for it. */
  ready: Promise<unknown>;
  turn(): void;
}

/**
 * Lets stored outcomes arrive in the order in which they were stored, among those that are asked for at the same time, so that
 * `Promise.race` decides as it did before. Each arrives in a turn of the event loop of its own, in which the flow asks for more.
 */
export class ReplayOrder {
  /** By time; those of the same time in the order of asking. */
  readonly #waiting: Waiting[] = [];
  #pumping = false;

  /** Resolves to what `ready` resolves to, when everything earlier that was asked for has arrived. */
  async turn<T>(atUs: number, ready: Promise<T>): Promise<T> {
    await new Promise<void>((turn) => {
      this.#insert({ atUs, ready, turn });
      if (!this.#pumping) void this.#pump();
    });
    return await ready;
  }

  #insert(entry: Waiting): void {
    let [low, high] = [0, this.#waiting.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#waiting[middle]?.atUs ?? 0) <= entry.atUs) low = middle + 1;
      else high = middle;
    }
    this.#waiting.splice(low, 0, entry);
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const next = this.#waiting.shift();
      if (next === undefined) break;
      await next.ready.catch(() => undefined);
      next.turn();
    }
    this.#pumping = false;
  }
}

/** The order in which the flow gets the outcomes of its steps and waits. */

/** When the server stored an outcome. Of one instant, waits come before steps, and each in the order of their ids. */
export interface StoredAt {
  atUs: number;
  kind: "wait" | "step";
  id: number;
}

interface Waiting {
  stored: StoredAt;
  /** Resolves when the outcome has been read; later outcomes wait for it. */
  ready: Promise<unknown>;
  turn(): void;
}

/**
 * Lets outcomes arrive in the order in which they were stored, among those that are asked for at the same time, so that a flow
 * that begins again decides as before: `Promise.race`, and the numbers of equal calls in several branches. Each outcome arrives
 * in a turn of the event loop of its own, in which the flow asks for more.
 */
export class OutcomeOrder {
  /** As they were stored; those of the same place in the order of asking. */
  readonly #waiting: Waiting[] = [];
  readonly #underWay = new Set<Promise<unknown>>();
  #pumping = false;
  #arriving = Promise.resolve();

  /** Whether no outcome is about to arrive. */
  get isIdle(): boolean {
    return !this.#pumping && this.#underWay.size === 0;
  }

  /** Resolves to what `ready` resolves to, when everything earlier that was asked for has arrived. */
  async turn<T>(stored: StoredAt, ready: Promise<T>): Promise<T> {
    await new Promise<void>((turn) => {
      this.#insert({ stored, ready, turn });
      if (!this.#pumping) void this.#pump();
    });
    return await ready;
  }

  /** Nothing arrives while this work is under way: the work brings outcomes, or the flow asks for more after it. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const promise = work();
    this.#underWay.add(promise);
    try {
      return await promise;
    } finally {
      this.#underWay.delete(promise);
    }
  }

  /** Resolves when the outcomes that were stored at once with the last one have arrived. */
  arrived(): Promise<void> {
    return this.#arriving;
  }

  #insert(entry: Waiting): void {
    let [low, high] = [0, this.#waiting.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#waiting[middle];
      if (other === undefined || isAfter(other.stored, entry.stored)) high = middle;
      else low = middle + 1;
    }
    this.#waiting.splice(low, 0, entry);
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    for (;;) {
      await nextTurn();
      if (this.#underWay.size > 0) {
        await Promise.allSettled(this.#underWay);
        continue;
      }
      const next = this.#takeNext();
      if (next.length === 0) break;
      await Promise.allSettled(next.map(({ ready }) => ready));
      this.#arriving = this.#arrive(next);
      await this.#arriving;
    }
    this.#pumping = false;
  }

  async #arrive(outcomes: readonly Waiting[]): Promise<void> {
    for (const { turn } of outcomes) {
      turn();
      await nextTurn();
    }
  }

  /** Steps that were stored at once, or waits that were settled at once. */
  #takeNext(): Waiting[] {
    const first = this.#waiting[0]?.stored;
    const isLater = ({ stored }: Waiting): boolean => stored.atUs !== first?.atUs || stored.kind !== first.kind;
    const count = this.#waiting.findIndex(isLater);
    return this.#waiting.splice(0, count < 0 ? this.#waiting.length : count);
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function isAfter(a: StoredAt, b: StoredAt): boolean {
  if (a.atUs !== b.atUs) return a.atUs > b.atUs;
  if (a.kind !== b.kind) return a.kind === "step";
  return a.id > b.id;
}

/** The mailbox of an actor: four lanes, served in this order, first in first out within a lane. */

export const LANES = ["kill", "stop", "supervision", "ordinary"] as const;
export type Lane = (typeof LANES)[number];

/**
 * Messages that an ordinary lane holds before it rejects more: far above any burst the gateway lets through, far below memory
 * limits.
 */
export const MAILBOX_MAX = 200_000;

/** Taking a message only moves the head of the lane; a consumed prefix of this length is cut off to free its memory. */
const COMPACT_AT = 4096;

export class Mailbox {
  readonly #lanes: Record<Lane, { items: unknown[]; head: number }> = {
    kill: { items: [], head: 0 },
    stop: { items: [], head: 0 },
    supervision: { items: [], head: 0 },
    ordinary: { items: [], head: 0 },
  };
  readonly #max: number;

  constructor(max: number = MAILBOX_MAX) {
    this.#max = max;
  }

  /** Number of messages waiting in all lanes. */
  get depth(): number {
    let depth = 0;
    for (const lane of LANES) depth += this.#lanes[lane].items.length - this.#lanes[lane].head;
    return depth;
  }

  /** False when the lane is full and the message was dropped. */
  put(message: unknown, lane: Lane): boolean {
    const queue = this.#lanes[lane];
    if (lane === "ordinary" && queue.items.length - queue.head >= this.#max) return false;
    queue.items.push(message);
    return true;
  }

  /** The next message, or undefined when all lanes are empty. */
  take(): { message: unknown; lane: Lane } | undefined {
    for (const lane of LANES) {
      const queue = this.#lanes[lane];
      if (queue.head === queue.items.length) continue;
      const message = queue.items[queue.head];
      queue.items[queue.head] = undefined;
      queue.head += 1;
      if (queue.head === queue.items.length) {
        queue.items.length = 0;
        queue.head = 0;
      } else if (queue.head >= COMPACT_AT) {
        queue.items.splice(0, queue.head);
        queue.head = 0;
      }
      return { message, lane };
    }
    return undefined;
  }

  /** Removes the ordinary messages for which `drop` is true and returns them. */
  remove(drop: (message: unknown) => boolean): unknown[] {
    const queue = this.#lanes.ordinary;
    const kept: unknown[] = [];
    const removed: unknown[] = [];
    for (const message of queue.items.slice(queue.head)) (drop(message) ? removed : kept).push(message);
    queue.items = kept;
    queue.head = 0;
    return removed;
  }
}

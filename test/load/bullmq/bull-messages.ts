/** Messages between the load generator and the process of a BullMQ worker. */

/** Asks to report when so many jobs have ended since the worker's start. */
export interface Expect {
  ended: number;
}

export type WorkerMessage =
  | { kind: "ready" }
  /** So many jobs have ended since the worker's start. */
  | { kind: "count"; ended: number }
  /** The expected number has ended; times in milliseconds, `atMs` since the Unix epoch. */
  | { kind: "ended"; ended: number; atMs: number; waitedMs: number[]; tookMs: number[] }
  | { kind: "failed"; error: string };

/** Milliseconds since the Unix epoch, from the steady clock. */
export function epochMs(): number {
  return performance.timeOrigin + performance.now();
}

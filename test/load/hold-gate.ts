/** Holds engines at their running run until all may continue, with the heartbeats that engines send in that time. */
import { setTimeout as sleep } from "node:timers/promises";
import type { HeldRun } from "./engine-host.ts";
import { LoadFailed } from "./load-failed.ts";

/** Engines send a heartbeat after this long without contact for their run. */
const HEARTBEAT_MS = 5_000;

export class HoldGate {
  readonly #wanted: number;
  readonly #released = Promise.withResolvers<void>();
  readonly #full = Promise.withResolvers<void>();
  #held = 0;
  #open = false;

  /** The gate is full with `wanted` engines. */
  constructor(wanted: number) {
    this.#wanted = wanted;
  }

  /** Holds a run until release(). */
  async hold({ runId, connection, reports }: HeldRun): Promise<number> {
    this.#held += 1;
    if (this.#held === this.#wanted) this.#full.resolve();
    while (!this.#open) {
      const stopTimer = new AbortController();
      await Promise.race([
        this.#released.promise,
        sleep(HEARTBEAT_MS, undefined, { signal: stopTimer.signal }).catch(() => undefined),
      ]);
      stopTimer.abort();
      if (!this.#open) await connection.post("/api/engine/heartbeat", reports.heartbeat(runId));
    }
    return 1;
  }

  async allHeld(limitMs: number): Promise<void> {
    const stopTimer = new AbortController();
    const late = sleep(limitMs, true, { signal: stopTimer.signal }).catch(() => false);
    const result = await Promise.race([this.#full.promise, late]);
    stopTimer.abort();
    if (result === true) throw new LoadFailed(`only ${this.#held} of ${this.#wanted} engines got a run to hold`);
  }

  release(): void {
    this.#open = true;
    this.#released.resolve();
  }
}

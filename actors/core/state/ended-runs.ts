/**
 * Ended runs that are still in memory, because engines send a last report after the end; older runs are read from the store.
 */
import type { Run } from "./run.ts";
import { memoryUnitsOf } from "./run-room.ts";

/** At 4,000 runs/s this is an eighth of a second; engines answer a request within milliseconds. Older runs are read from the store. */
const RUNS_MAX = 512;
/** Memory limit in units of usual runs (about 30 MB): large runs are evicted sooner. */
const UNITS_MAX = 20_000;

interface Entry {
  run: Run;
  /** The step that changed the run last; 0 if it was read from the store. */
  turn: number;
  units: number;
}

export class EndedRuns {
  /** In order of insertion. */
  readonly #entries = new Map<number, Entry>();
  #units = 0;

  get(id: number): Run | undefined {
    return this.#entries.get(id)?.run;
  }

  all(): Run[] {
    return [...this.#entries.values()].map(({ run }) => run);
  }

  put(run: Run, turn: number): void {
    const known = this.#entries.get(run.id);
    const units = memoryUnitsOf(run);
    this.#units += units - (known?.units ?? 0);
    this.#entries.set(run.id, { run, turn, units });
  }

  delete(id: number): void {
    this.#units -= this.#entries.get(id)?.units ?? 0;
    this.#entries.delete(id);
  }

  /** Evicts the oldest runs beyond the limits, if their last change is committed. */
  trim(committedTurn: number): void {
    for (const [id, { turn }] of this.#entries) {
      if (this.#entries.size <= RUNS_MAX && this.#units <= UNITS_MAX) return;
      if (turn > committedTurn) return;
      this.delete(id);
    }
  }
}

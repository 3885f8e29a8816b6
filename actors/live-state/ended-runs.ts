/** Ended runs that are still in memory, because engines send a last report after the end; older ones are read from the store again. */
import type { Run } from "./run.ts";
import { placesOf } from "./run-room.ts";

/** Engines send their last report within seconds; at 4,000 runs/s this is half a second, then the store is asked. */
const RUNS_MAX = 2_048;
/** As many usual runs may take: large ones go sooner (some 30 MB). */
const PLACES_MAX = 20_000;

interface Entry {
  run: Run;
  /** The step in which it was changed last; 0 when it was read from the store. */
  turn: number;
  places: number;
}

export class EndedRuns {
  /** In the order in which they came. */
  readonly #entries = new Map<number, Entry>();
  #places = 0;

  get(id: number): Run | undefined {
    return this.#entries.get(id)?.run;
  }

  all(): Run[] {
    return [...this.#entries.values()].map(({ run }) => run);
  }

  put(run: Run, turn: number): void {
    const known = this.#entries.get(run.id);
    const places = placesOf(run);
    this.#places += places - (known?.places ?? 0);
    this.#entries.set(run.id, { run, turn, places });
  }

  delete(id: number): void {
    this.#places -= this.#entries.get(id)?.places ?? 0;
    this.#entries.delete(id);
  }

  /** Drops the oldest that are too many, as far as the store knows what became of them. */
  trim(committedTurn: number): void {
    for (const [id, { turn }] of this.#entries) {
      if (this.#entries.size <= RUNS_MAX && this.#places <= PLACES_MAX) return;
      if (turn > committedTurn) return;
      this.delete(id);
    }
  }
}

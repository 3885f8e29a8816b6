/**
 * Keeps the bounds of the start times of each stretch of runs, for lists filtered by start time.
 *
 * SQLite only: min or max of values (least, greatest).
 */
import { stretchOf } from "../schema/codes.ts";
import type { Statements } from "../sqlite/statements.ts";

const PUT = `INSERT INTO run_times (stretch, start_min, start_max) VALUES (?, ?, ?)
  ON CONFLICT (stretch) DO UPDATE SET start_min = min(start_min, excluded.start_min), start_max = max(start_max, excluded.start_max)`;

/** Stretches cached; evicting one only costs a repeated write. */
const REMEMBERED_MAX = 256;

interface Bounds {
  min: number;
  max: number;
}

export class RunTimes {
  readonly #statements: Statements;
  readonly #known = new Map<number, Bounds>();
  /** New in each commit, see ADR 47. */
  #widened = new Set<number>();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Records a time at which this run started or, before its start, was created. */
  note(run: number, at: number): void {
    this.noteStretch(stretchOf(run), at);
  }

  /** Records such a time for runs of a stretch. */
  noteStretch(stretch: number, at: number): void {
    const bounds = this.#known.get(stretch);
    if (bounds !== undefined && at >= bounds.min && at <= bounds.max) return;
    if (bounds === undefined) this.#known.set(stretch, { min: at, max: at });
    else {
      bounds.min = Math.min(bounds.min, at);
      bounds.max = Math.max(bounds.max, at);
    }
    this.#widened.add(stretch);
  }

  flush(): void {
    for (const stretch of this.#widened) {
      const bounds = this.#known.get(stretch);
      if (bounds !== undefined) this.#statements.raw(PUT).run(stretch, bounds.min, bounds.max);
    }
    this.#widened = new Set();
    if (this.#known.size > REMEMBERED_MAX) this.#known.clear();
  }

  rolledBack(): void {
    this.#known.clear();
    this.#widened = new Set();
  }
}

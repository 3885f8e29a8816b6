/**
 * What is due later: one heap for all runs and one timer of the actor for its first entry.
 * An entry is only a reminder; whoever handles it checks the run again, so nothing needs to be taken back.
 */
import { PriorityQueue } from "./priority-queue.ts";

export type DeadlineKind =
  /** The scheduled time has come. */
  | "due"
  /** The scheduled time passed 15 s ago. */
  | "late"
  /** The flow's timeout is over. */
  | "timeout"
  /** The engine has had its time to end after a timeout. */
  | "timeout-kill"
  /** The cancel grace is over. */
  | "cancel-term"
  /** Twice the cancel grace is over. */
  | "cancel-kill"
  /** A crashed run is run again. */
  | "rerun"
  /** Nobody answered the bulk-completion check of a backfill; the id is the backfill's. */
  | "unchecked";

export interface Deadline {
  kind: DeadlineKind;
  run_id: number;
  dueUs: number;
}

/** Kinds that are due at a moment of the day; the others are due when some time has passed. */
const MOMENTS: ReadonlySet<DeadlineKind> = new Set<DeadlineKind>(["due", "late"]);

type Entry = Deadline & { order: number };

function isBefore(a: Entry, b: Entry): boolean {
  return a.dueUs < b.dueUs || (a.dueUs === b.dueUs && a.order < b.order);
}

export class Deadlines {
  #heap = new PriorityQueue<Entry>(isBefore);
  #order = 0;

  add(kind: DeadlineKind, runId: number, dueUs: number): void {
    this.#order += 1;
    this.#heap.push({ kind, run_id: runId, dueUs, order: this.#order });
  }

  /** The wall clock was set back: what waits for time to pass waits no longer than before. */
  stepBack(byUs: number): void {
    const entries = this.#heap.items();
    this.#heap = new PriorityQueue<Entry>(isBefore);
    for (const entry of entries) {
      this.#heap.push(MOMENTS.has(entry.kind) ? entry : { ...entry, dueUs: entry.dueUs - byUs });
    }
  }

  nextDueUs(): number | null {
    return this.#heap.peek()?.dueUs ?? null;
  }

  /** Removes and returns the first entry that is due, or undefined. */
  takeDue(nowUs: number): Deadline | undefined {
    const first = this.#heap.peek();
    return first !== undefined && first.dueUs <= nowUs ? this.#heap.pop() : undefined;
  }
}

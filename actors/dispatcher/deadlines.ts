/**
 * What is due later: one heap for moments of the day, one for waits, and one timer of the actor for the first of both.
 *
 * A wait is measured by a clock that neither steps nor runs while the machine sleeps: setting the wall clock makes no run time
 * out, and keeps none from it. An entry is only a reminder; whoever handles it checks the run again, so nothing needs to be
 * taken back.
 */
import { PriorityQueue } from "./priority-queue.ts";

/** Due at a moment of the wall clock. */
export type MomentKind =
  /** The scheduled time has come. */
  | "due"
  /** The scheduled time passed 15 s ago. */
  | "late";

/** Due when some time has passed. */
export type WaitKind =
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
  kind: MomentKind | WaitKind;
  run_id: number;
  /** The timestamp of the state it was set for; 0 where that does not matter. */
  stamp: number;
}

interface Entry extends Deadline {
  /** By the clock of its heap. */
  dueUs: number;
  order: number;
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.dueUs < b.dueUs || (a.dueUs === b.dueUs && a.order < b.order);
}

export class Deadlines {
  readonly #moments = new PriorityQueue<Entry>(isBefore);
  readonly #waits = new PriorityQueue<Entry>(isBefore);
  readonly #uptimeUs: () => number;
  #order = 0;

  /** `uptimeUs`: the clock of waits. */
  constructor(uptimeUs: () => number) {
    this.#uptimeUs = uptimeUs;
  }

  /** Reminds at a moment of the wall clock. */
  add(kind: MomentKind, runId: number, dueUs: number): void {
    this.#order += 1;
    this.#moments.push({ kind, run_id: runId, stamp: 0, dueUs, order: this.#order });
  }

  /** Reminds when `waitUs` have passed. */
  wait(kind: WaitKind, runId: number, waitUs: number, stamp = 0): void {
    this.#order += 1;
    this.#waits.push({ kind, run_id: runId, stamp, dueUs: this.#uptimeUs() + Math.max(0, waitUs), order: this.#order });
  }

  /** When the first entry is due by the wall clock, which is ahead of the clock of waits by `aheadUs`. */
  nextDueUs(aheadUs: number): number | null {
    const moment = this.#moments.peek()?.dueUs ?? Number.POSITIVE_INFINITY;
    const wait = this.#waits.peek()?.dueUs ?? Number.POSITIVE_INFINITY;
    const first = Math.min(moment, wait + aheadUs);
    return Number.isFinite(first) ? first : null;
  }

  /** Removes and returns an entry that is due, or undefined. */
  takeDue(nowUs: number): Deadline | undefined {
    if ((this.#moments.peek()?.dueUs ?? Number.POSITIVE_INFINITY) <= nowUs) return this.#moments.pop();
    return (this.#waits.peek()?.dueUs ?? Number.POSITIVE_INFINITY) <= this.#uptimeUs() ? this.#waits.pop() : undefined;
  }
}

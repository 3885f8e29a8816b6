/**
 * Deadlines: one heap for times of the wall clock, one for waits, and one timer of the actor for the earliest.
 *
 * Waits are measured by a clock that neither steps nor counts sleep of the machine: setting the wall clock neither causes nor
 * prevents a timeout of a run. An entry is only a reminder; its handler checks the run again, so entries are never removed
 * early.
 */
import { PriorityQueue } from "./priority-queue.ts";

/** Due at a time of the wall clock. */
export type MomentKind =
  /** The scheduled time is reached. */
  | "due"
  /** The scheduled time passed 15 s ago. */
  | "late"
  /** The retry delay of a run without an engine has passed. */
  | "wake";

/** Due after an elapsed time. */
export type WaitKind =
  /** The flow's timeout has passed. */
  | "timeout"
  /** The engine's time to end after a timeout has passed. */
  | "timeout-kill"
  /** The cancel grace has passed. */
  | "cancel-term"
  /** Twice the cancel grace has passed. */
  | "cancel-kill"
  /** A crashed run is due for its rerun. */
  | "rerun";

/** A reminder about a run. */
export interface RunDeadline {
  kind: MomentKind | WaitKind;
  run_id: number;
  /** Timestamp of the state for which the deadline was set, the planned time of a rerun, or 0. */
  stamp: number;
}

/** The bulk-completion check of a backfill got no answer. */
export interface BackfillDeadline {
  kind: "unchecked";
  backfill_id: number;
}

/** A wait of a durable run ends by itself. */
export interface WaitDeadline {
  kind: "wait";
  wait_id: number;
}

export type Deadline = RunDeadline | BackfillDeadline | WaitDeadline;

/** `dueUs` is by the clock of the entry's heap. */
type Entry = Deadline & { dueUs: number; order: number };

function isBefore(a: Entry, b: Entry): boolean {
  return a.dueUs < b.dueUs || (a.dueUs === b.dueUs && a.order < b.order);
}

export class Deadlines {
  readonly #moments = new PriorityQueue<Entry>(isBefore);
  readonly #waits = new PriorityQueue<Entry>(isBefore);
  readonly #uptimeUs: () => number;
  #order = 0;

  /** `uptimeUs`: the clock for waits. */
  constructor(uptimeUs: () => number) {
    this.#uptimeUs = uptimeUs;
  }

  /** Sets a reminder about a run for a time of the wall clock. */
  add(kind: MomentKind, run_id: number, dueUs: number): void {
    this.#order += 1;
    this.#moments.push({ kind, run_id, stamp: 0, dueUs, order: this.#order });
  }

  /** Sets a reminder about a wait for a time of the wall clock. */
  addWait(wait_id: number, dueUs: number): void {
    this.#order += 1;
    this.#moments.push({ kind: "wait", wait_id, dueUs, order: this.#order });
  }

  /** Sets a reminder about a run after `waitUs`. */
  wait(kind: WaitKind, run_id: number, waitUs: number, stamp = 0): void {
    this.#order += 1;
    this.#waits.push({ kind, run_id, stamp, dueUs: this.#afterUs(waitUs), order: this.#order });
  }

  /** Sets the reminder about the bulk-completion check of a backfill. */
  waitForCheck(backfill_id: number, waitUs: number): void {
    this.#order += 1;
    this.#waits.push({ kind: "unchecked", backfill_id, dueUs: this.#afterUs(waitUs), order: this.#order });
  }

  #afterUs(waitUs: number): number {
    return this.#uptimeUs() + Math.max(0, waitUs);
  }

  /** Due time of the first entry by the wall clock, which is ahead of the clock for waits by `aheadUs`. */
  nextDueUs(aheadUs: number): number | null {
    const moment = this.#moments.peek()?.dueUs ?? Number.POSITIVE_INFINITY;
    const wait = this.#waits.peek()?.dueUs ?? Number.POSITIVE_INFINITY;
    const first = Math.min(moment, wait + aheadUs);
    return Number.isFinite(first) ? first : null;
  }

  /** Removes and returns a due entry, or undefined. */
  takeDue(nowUs: number): Deadline | undefined {
    if ((this.#moments.peek()?.dueUs ?? Number.POSITIVE_INFINITY) <= nowUs) return this.#moments.pop();
    return (this.#waits.peek()?.dueUs ?? Number.POSITIVE_INFINITY) <= this.#uptimeUs() ? this.#waits.pop() : undefined;
  }
}

/**
 * Lets runs begin, as long as the thread of user code takes them. Runs that compute hold the thread, and runs that were let in
 * beside them would wait although they count as begun. So a flow begins with one run; it gets one more at once for each of its
 * runs that has ended, or has been in the thread for a while, without the thread being held: 1, 2, 4 and so on. While the thread
 * is held, no run is let in: those that wait here go back to the queue, where another engine takes them.
 */

/** A thread that does not return to its event loop for this long is held: runs that have not begun go back. */
export const HELD_MS = 100;
/** A thread that is held for this long is reported. */
export const BLOCKED_MS = 1_000;
/** A run that has been in the thread for this long without holding it is expected to wait. */
export const WAITS_MS = 200;
/** After each call of a flow the thread is asked, once for all calls of this time: a question costs as much as a log line. */
const CALLED_MS = 20;
/** A thread that has answered or ended a run within this time is not asked before the next run. */
const RECENT_MS = 5;

export interface StartGateOptions {
  /** The most runs of a flow that begin at once. */
  most: number;
  /** Resolves once the thread has carried out all orders so far and has returned to its event loop, or has ended. */
  turn(): Promise<unknown>;
  /** When the code of a run last ended (performance.now): a thread that ends runs is not held, however busy it is. */
  endedMs(): number;
  /** The thread is held, or it is held no longer, or `blockedMs` is set. */
  changed(): void;
}

interface Waiting {
  run: number;
  flow: string;
  settle(isLetIn: boolean): void;
}

/** A run that was let in. */
interface Inside {
  flow: string;
  /** Whether the run may still turn out to hold the thread. */
  isNew: boolean;
  timer: NodeJS.Timeout | null;
}

/** The starts of one flow. */
interface Starts {
  atOnce: number;
  /** Its new runs. */
  open: number;
}

export class StartGate {
  readonly #options: StartGateOptions;
  readonly #flows = new Map<string, Starts>();
  readonly #inside = new Map<number, Inside>();
  #waiting: Waiting[] = [];
  /** Runs that turn out to wait if the thread answers. */
  #due: number[] = [];
  #isAsking = false;
  #asksAgain = false;
  #isHeld = false;
  #blockedSinceMs: number | null = null;
  #timer: NodeJS.Timeout | null = null;
  #calledTimer: NodeJS.Timeout | null = null;
  #answeredMs = Number.NEGATIVE_INFINITY;

  constructor(options: StartGateOptions) {
    this.#options = options;
  }

  /** Code does not return to the event loop of the thread. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Runs that were let in and have not left. */
  get inside(): number {
    return this.#inside.size;
  }

  /** For how long code has held the thread; null until that is to be reported. */
  get blockedMs(): number | null {
    return this.#blockedSinceMs === null ? null : performance.now() - this.#blockedSinceMs;
  }

  /** True once the run may begin; false if it has to go back. */
  enter(run: number, flow: string): boolean | Promise<boolean> {
    if (this.#isHeld) return false;
    const { open, atOnce } = this.#startsOf(flow);
    if (open < atOnce && this.#waiting.length === 0 && this.#isFree) {
      this.#letIn(run, flow);
      return true;
    }
    const answer = Promise.withResolvers<boolean>();
    this.#waiting.push({ run, flow, settle: answer.resolve });
    // Else a run that leaves makes room.
    if (open < atOnce || !this.#isFree) this.look();
    return answer.promise;
  }

  /** The flow's function has been called. */
  called(run: number): void {
    const inside = this.#inside.get(run);
    if (inside === undefined || inside.timer !== null) return;
    inside.timer = setTimeout(() => {
      this.#due.push(run);
      this.look();
    }, WAITS_MS);
    this.#calledTimer ??= setTimeout(() => {
      this.#calledTimer = null;
      this.look();
    }, CALLED_MS);
  }

  /** The run has ended, or does not begin. */
  leave(run: number): void {
    this.#proven(run, !this.#isHeld);
    this.#inside.delete(run);
    if (this.#waiting.length > 0 && this.#isFree) this.#openUp();
    else if (this.#waiting.length > 0) this.look();
  }

  /** Asks whether the thread returns to its event loop. */
  look(): void {
    if (this.#isAsking) this.#asksAgain = true;
    else void this.#ask();
  }

  /** Nothing can hold the thread, or it has just answered. */
  get #isFree(): boolean {
    if (this.#inside.size === 0) return true;
    return !this.#isAsking && performance.now() - Math.max(this.#answeredMs, this.#options.endedMs()) < RECENT_MS;
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    this.#asksAgain = false;
    const due = this.#due;
    this.#due = [];
    const sinceMs = performance.now();
    this.#watch(sinceMs);
    await this.#options.turn();
    if (this.#timer !== null) clearTimeout(this.#timer);
    const wasHeld = this.#isHeld;
    this.#isHeld = false;
    this.#blockedSinceMs = null;
    this.#isAsking = false;
    this.#answeredMs = performance.now();
    for (const run of due) this.#proven(run, !wasHeld);
    this.#openUp();
    if (this.#asksAgain) this.look();
    if (wasHeld) this.#options.changed();
  }

  /** Watches a thread that has been asked, and in which no run has ended since. */
  #watch(sinceMs: number): void {
    const silentMs = performance.now() - Math.max(sinceMs, this.#options.endedMs());
    if (silentMs >= HELD_MS && !this.#isHeld) this.#hold();
    if (silentMs >= BLOCKED_MS) this.#block(performance.now() - silentMs);
    else this.#timer = setTimeout(() => this.#watch(sinceMs), (this.#isHeld ? BLOCKED_MS : HELD_MS) - silentMs);
  }

  /** Which of the runs holds the thread cannot be told, so each flow begins with one run at a time again. */
  #hold(): void {
    this.#isHeld = true;
    for (const [run, { timer }] of this.#inside) if (timer !== null) this.#proven(run, false);
    for (const starts of this.#flows.values()) starts.atOnce = 1;
    for (const { settle } of this.#waiting.splice(0)) settle(false);
    this.#options.changed();
  }

  #block(sinceMs: number): void {
    this.#blockedSinceMs = sinceMs;
    this.#options.changed();
  }

  /** Lets in the waiting runs that may begin now. */
  #openUp(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const each of waiting) {
      const { open, atOnce } = this.#startsOf(each.flow);
      if (open >= atOnce) this.#waiting.push(each);
      else {
        this.#letIn(each.run, each.flow);
        each.settle(true);
      }
    }
  }

  #letIn(run: number, flow: string): void {
    this.#inside.set(run, { flow, isNew: true, timer: null });
    this.#startsOf(flow).open += 1;
  }

  /** A run is no longer new; `waits` if it has left the thread to others. */
  #proven(run: number, waits: boolean): void {
    const inside = this.#inside.get(run);
    if (inside === undefined || !inside.isNew) return;
    inside.isNew = false;
    if (inside.timer !== null) clearTimeout(inside.timer);
    const starts = this.#startsOf(inside.flow);
    starts.open -= 1;
    if (waits) starts.atOnce = Math.min(this.#options.most, starts.atOnce + 1);
  }

  #startsOf(flow: string): Starts {
    let starts = this.#flows.get(flow);
    if (starts === undefined) {
      starts = { atOnce: 1, open: 0 };
      this.#flows.set(flow, starts);
    }
    return starts;
  }
}

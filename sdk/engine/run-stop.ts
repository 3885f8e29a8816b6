/** Why a run is stopped before its function has returned. */
export type StopReason =
  | { kind: "cancelled" }
  | { kind: "timed-out"; seconds: number }
  | { kind: "gone" }
  /** The engine process is ordered to end at once. */
  | { kind: "shut-down" };

/** How long user code may take to return after its signal was aborted for a time limit. */
export const TIMEOUT_GRACE_MS = 1_000;

/**
 * The one stop of a run: the first reason counts. The user's signal is aborted at once; if that does not end the attempt within
 * the grace, `enforce` ends it.
 */
export class RunStop {
  reason: StopReason | null = null;
  /** Aborts with the stop: for the engine's own waits. */
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #abortUserCode: (seconds: number | null) => void;
  readonly #enforce: () => void;
  readonly #graceMs: number;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(abortUserCode: (seconds: number | null) => void, enforce: () => void, graceMs: number) {
    this.#abortUserCode = abortUserCode;
    this.#enforce = enforce;
    this.#graceMs = graceMs;
    this.signal = this.#controller.signal;
  }

  request(reason: StopReason): void {
    if (this.reason !== null || this.#closed) return;
    this.reason = reason;
    this.#abortUserCode(reason.kind === "timed-out" ? reason.seconds : null);
    const graceMs = reason.kind === "timed-out" ? Math.min(this.#graceMs, TIMEOUT_GRACE_MS) : this.#graceMs;
    this.#timer = setTimeout(this.#enforce, graceMs);
    this.#controller.abort();
  }

  /** The attempt has ended by itself. */
  disarm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** The run is over: a late answer about it must not affect the thread, which may execute the next run. */
  close(): void {
    this.disarm();
    this.#closed = true;
  }
}

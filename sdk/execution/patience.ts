/** Repeats requests while the server is away. */
import { type FailureReason, MillraceError } from "../client/error.ts";
import { pause } from "../client/http.ts";

/** As long as engines resend their reports (interface: Limits, engine idle give-up). */
const PATIENCE_MS = 600_000;
const WAIT_FIRST_MS = 200;
const WAIT_MAX_MS = 5_000;

/** Failures without an answer. */
const UNANSWERED: ReadonlySet<FailureReason> = new Set(["unreachable", "cut", "timeout"]);
/** Answers that mean: nothing was applied, try later. */
const LATER = new Set([429, 502, 503, 504, 507]);

/**
 * Repeats an idempotent request until a server gives a final answer.
 * @throws MillraceError for a refusal, or when no server was reached for ten minutes; the signal's reason when the signal
 * aborts
 */
export async function patiently<T>(ask: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const startedMs = performance.now();
  for (let waitMs = WAIT_FIRST_MS; ; waitMs = Math.min(2 * waitMs, WAIT_MAX_MS)) {
    try {
      return await ask();
    } catch (error) {
      signal?.throwIfAborted();
      if (!passes(error) || performance.now() - startedMs > PATIENCE_MS) throw error;
    }
    await pause(waitMs, signal);
  }
}

function passes(error: unknown): boolean {
  return error instanceof MillraceError && (UNANSWERED.has(error.reason) || LATER.has(error.status));
}

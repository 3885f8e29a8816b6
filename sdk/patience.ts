/** Going on when the server is away for a while. */
import { MillraceError } from "./client/error.ts";
import { pause } from "./client/http.ts";

/** As long as engines repeat their reports (interface: Limits, engine idle give-up). */
const PATIENCE_MS = 600_000;
const WAIT_FIRST_MS = 200;
const WAIT_MAX_MS = 5_000;

/** Answers that mean: nothing was applied, try later. */
const LATER = new Set([429, 502, 503, 504, 507]);

/**
 * Repeats what may be done twice until a server answers it for good.
 * @throws MillraceError for a refusal, or when no server was reached for ten minutes; the signal's reason when it aborts
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
  return error instanceof MillraceError && (error.status === 0 || LATER.has(error.status));
}

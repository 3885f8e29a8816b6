/** Resends the engine's requests while the server is away. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ChannelAnswer } from "./connection.ts";

/** First delay after a connection error; it doubles from there. */
export const FIRST_WAIT_MS = 200;

/** Longest delay between two attempts. */
export const WAIT_MS_LONGEST = 5_000;

/** How often a request answered 500 is sent: the request itself may be the cause. */
const FAILED_TRIES_MAX = 3;

/** Answers that mean: nothing was applied, try later. */
const LATER = new Set([429, 502, 503, 504, 507]);

/**
 * Sends until the server gives a final answer: connection errors and "later" answers are retried for `retryMs`. `repeated` is
 * true if an earlier attempt may have been applied although its answer was lost.
 * @throws the last connection error when the time has passed, or the signal's reason
 */
export async function sendUntilAnswered(
  send: () => Promise<ChannelAnswer>,
  retryMs: number,
  signal?: AbortSignal,
): Promise<ChannelAnswer & { repeated: boolean }> {
  const startedMs = performance.now();
  let waitMs = FIRST_WAIT_MS;
  let repeated = false;
  let failures = 0;
  for (;;) {
    let afterMs = 0;
    try {
      const answer = await send();
      failures += answer.status === 500 ? 1 : 0;
      const later = LATER.has(answer.status) || (answer.status === 500 && failures < FAILED_TRIES_MAX);
      if (!later || performance.now() - startedMs > retryMs) return { ...answer, repeated };
      afterMs = answer.retryAfterMs;
    } catch (error) {
      if (signal?.aborted || performance.now() - startedMs > retryMs) throw error;
      repeated = true;
    }
    await sleep(Math.max(waitMs, afterMs), undefined, signal === undefined ? {} : { signal });
    waitMs = Math.min(waitMs * 2, WAIT_MS_LONGEST);
  }
}

/** Tries of one message: up to three, with waits between them that grow. */
import { setTimeout as pause } from "node:timers/promises";
import { OUTBOUND_ATTEMPTS_MAX } from "#protocol/limits";
import type { OutboundDone } from "../rules/messages.ts";

/** Waits before the second and third try. */
const WAITS_MS = [400, 800];

/** What one try led to: the end, or a reason to try again. */
export type Attempt = { result: OutboundDone["result"] } | { again: string };

/** Tries until one says that it is over. `what` names the message in the error that is left. Rejects once it is `stopped`. */
export async function inAttempts(
  what: string,
  stopped: AbortSignal,
  attemptOnce: (attempt: number) => Promise<Attempt>,
): Promise<OutboundDone["result"]> {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await attemptOnce(attempt);
    stopped.throwIfAborted();
    if ("result" in outcome) return outcome.result;
    const waitMs = WAITS_MS[attempt - 1];
    if (attempt >= OUTBOUND_ATTEMPTS_MAX || waitMs === undefined)
      return { error: `${what} failed after ${attempt} attempts: ${outcome.again}` };
    await pause(waitMs, undefined, { signal: stopped });
  }
}

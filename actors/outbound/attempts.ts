/** Attempts to deliver one message: up to three, with growing delays. */
import { setTimeout as pause } from "node:timers/promises";
import { OUTBOUND_ATTEMPTS_MAX } from "#protocol/limits";
import type { OutboundDone } from "../rule-engine/rule-messages.ts";

/** Delays before the second and third attempt. */
const WAITS_MS = [400, 800];

/** The outcome of one attempt: a result, or a reason to retry. */
export type Attempt = { result: OutboundDone["result"] } | { again: string };

/** Repeats attempts until one is final. `what` names the message in the final error. Rejects once `stopped`. */
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

import { isAbort } from "../execution/failure.ts";
import type { OptionNames } from "./declaration-notes.ts";
import { type Duration, parseDuration } from "./duration.ts";

/** When and how often a failed task or flow is retried. */
export interface RetryOptions {
  /** Maximum number of further attempts after a failure. Default 0. */
  retries?: number;
  /**
   * Wait before a retry: one duration, one per retry (the last repeats), or a function of the retry's number (1 is the first).
   * Default 0.
   */
  retryDelay?: Duration | readonly Duration[] | ((retry: number) => Duration);
  /** Lengthens each wait by a random part of it, up to this factor: 0.5 waits 1 to 1.5 times as long. Default 0. */
  retryJitter?: number;
  /** Decides whether this error is retried. Default: every error but Abort. */
  retryOn?: (error: unknown) => boolean;
}

export const RETRY_NAMES: OptionNames<RetryOptions> = { retries: true, retryDelay: true, retryJitter: true, retryOn: true };

/** The seconds to wait before retry number `retry` (1 is the first), or null if the failure is final. */
export function retryDelayOf(
  options: RetryOptions,
  retry: number,
  error: unknown,
  random: () => number = Math.random,
): number | null {
  if (retry > (options.retries ?? 0) || isAbort(error)) return null;
  if (options.retryOn !== undefined && !options.retryOn(error)) return null;
  const seconds = parseDuration(durationOf(options.retryDelay ?? 0, retry));
  return seconds * (1 + (options.retryJitter ?? 0) * random());
}

/** Rejects options that would otherwise fail only when a retry is due. */
export function checkRetryOptions(options: RetryOptions): void {
  if (options.retries !== undefined && !(Number.isInteger(options.retries) && options.retries >= 0)) {
    throw new RangeError(`retries is a whole number from 0 up, not ${options.retries}`);
  }
  const jitter = options.retryJitter ?? 0;
  if (!(jitter >= 0 && Number.isFinite(jitter))) throw new RangeError(`retryJitter is a factor from 0 up, not ${jitter}`);
  if (options.retryDelay === undefined || typeof options.retryDelay === "function") return;
  for (const delay of isList(options.retryDelay) ? options.retryDelay : [options.retryDelay]) parseDuration(delay);
}

function durationOf(delay: Duration | readonly Duration[] | ((retry: number) => Duration), retry: number): Duration {
  if (typeof delay === "function") return delay(retry);
  return isList(delay) ? (delay[retry - 1] ?? delay.at(-1) ?? 0) : delay;
}

function isList(delay: Duration | readonly Duration[]): delay is readonly Duration[] {
  return Array.isArray(delay);
}

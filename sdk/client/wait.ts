/** Waits for the end of a run. */

import { lostResultBytes, lostResultReason } from "#protocol/records/state";
import { MillraceError } from "./error.ts";
import { type Http, pause } from "./http.ts";
import type { Run } from "./records.ts";
import { ResultLostError, ResultTooLargeError } from "./result-lost-error.ts";

/** The return type of a flow, by the type of the flow (`typeof daily`) or of the result itself. */
export type ResultOf<T> = T extends (...args: never[]) => Promise<infer Result> ? Result : T;

/** A run that ended, with the return value of its flow. */
export interface EndedRun<Result = unknown> {
  /** The run in its last state. */
  run: Run;
  /** The flow's return value; undefined if the flow did not complete or returned nothing. */
  result: ResultOf<Result> | undefined;
}

/** Options of `waitFor`. */
export interface WaitOptions {
  /** Ends the wait, which then throws. */
  signal?: AbortSignal | undefined;
  /** Longest wait in ms, after which a MillraceError with reason `timeout` is thrown. Default: for ever. */
  timeoutMs?: number | undefined;
  /** Longest time in ms without reaching the server before its failure is thrown. Default 60,000. */
  retryForMs?: number | undefined;
}

const TERMINAL: ReadonlySet<string> = new Set(["Completed", "Failed", "Cancelled", "Crashed"]);
/** How long one request waits: proxies commonly cut a request that got no answer for 30 s. */
const WAIT_MS = 25_000;
/** Between requests that were answered sooner: the server stops, cannot be reached, or does not know `wait_ms`. */
const PAUSE_MS = 500;
const RETRY_FOR_MS = 60_000;

/**
 * True when a run has ended.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { hasEnded, Millrace } from "millrace/client";
 *
 * const client = new Millrace();
 * const created = await client.runs.create({ project: "shop", flow: "greeting", parameters: { name: "Ada" } });
 * assert.equal(hasEnded(created), false);
 *
 * const { run } = await client.waitFor(created.id);
 * assert.equal(hasEnded(run), true);
 * ```
 */
export function hasEnded(run: Run): boolean {
  return TERMINAL.has(run.state.type);
}

/**
 * Resolves when the run has ended, in any state.
 * @throws ResultTooLargeError for a result larger than what is stored (64,000 bytes); ResultLostError for a result that is no
 * JSON; MillraceError: 404 for a run that does not exist or was deleted during the wait, and the failures of WaitOptions.
 */
export async function waitForRun<Result>(http: Http, runId: number, options: WaitOptions = {}): Promise<EndedRun<Result>> {
  const first = await readRun(http, runId, options.signal);
  if (hasEnded(first)) return endedRun(first);
  const stop = new AbortController();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
  const waits = [untilEnded(http, runId, signal, options.retryForMs ?? RETRY_FOR_MS)];
  if (options.timeoutMs !== undefined) waits.push(timeLimit(runId, options.timeoutMs, signal));
  try {
    return endedRun(await Promise.race(waits));
  } finally {
    stop.abort();
    await Promise.allSettled(waits);
  }
}

function endedRun<Result>(run: Run): EndedRun<Result> {
  const lostBytes = lostResultBytes(run.state);
  if (lostBytes !== null) throw new ResultTooLargeError(run, lostBytes);
  const lost = lostResultReason(run.state);
  if (lost !== null) throw new ResultLostError(run, `the result of run ${run.id} is not kept: ${lost}`, "result-not-json");
  const details = run.state.type === "Completed" ? run.state.details : undefined;
  return { run, result: details?.["result"] as ResultOf<Result> | undefined };
}

/** Asks again and again for the end of the run; each request waits at the server. */
async function untilEnded(http: Http, runId: number, signal: AbortSignal, retryForMs: number): Promise<Run> {
  let reachedMs = Date.now();
  for (;;) {
    const askedMs = Date.now();
    try {
      const run = await http.get<Run>(`/api/runs/${runId}`, { wait_ms: WAIT_MS, until: "ended" }, signal);
      if (hasEnded(run)) return run;
      reachedMs = Date.now();
    } catch (error) {
      if (error instanceof MillraceError && error.status === 404) throw gone(runId);
      ifPassing(error);
      if (Date.now() - reachedMs >= retryForMs) throw error;
    }
    if (Date.now() - askedMs < PAUSE_MS) await pause(PAUSE_MS, signal);
  }
}

async function timeLimit(runId: number, timeoutMs: number, signal: AbortSignal): Promise<never> {
  await pause(timeoutMs, signal);
  throw new MillraceError(`run ${runId} has not ended within ${timeoutMs / 1000} s`, { reason: "timeout", status: 0 });
}

function readRun(http: Http, runId: number, signal: AbortSignal | undefined): Promise<Run> {
  return http.get<Run>(`/api/runs/${runId}`, undefined, signal);
}

/** Throws a failure that a retry cannot overcome. */
function ifPassing(error: unknown): void {
  if (!(error instanceof MillraceError && (error.status === 0 || error.status >= 500))) throw error;
}

function gone(runId: number): MillraceError {
  return new MillraceError(`run ${runId} was deleted`, { reason: "refused", status: 404 });
}

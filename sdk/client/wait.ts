/** Waits for the end of a run, and for the run that repeats a crashed one. */

import { lostResultBytes, lostResultReason, rerunAt } from "#protocol/records/state";
import { MillraceError } from "./error.ts";
import { type Http, pause } from "./http.ts";
import type { Page } from "./listing.ts";
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
  /**
   * With true, a run that crashed and is run again has not ended yet: the wait goes on with the run that repeats it, which is the
   * `run` of the result. Default false.
   */
  reruns?: boolean | undefined;
}

/** Options of `rerunOf`. */
export type RerunOptions = Pick<WaitOptions, "signal" | "retryForMs">;

const TERMINAL: ReadonlySet<string> = new Set(["Completed", "Failed", "Cancelled", "Crashed"]);
/** How long one request waits: proxies commonly cut a request that got no answer for 30 s. */
const WAIT_MS = 25_000;
/** Between requests that were answered sooner: the server stops, cannot be reached, or does not know `wait_ms`. */
const PAUSE_MS = 500;
const RETRY_FOR_MS = 60_000;
/** A rerun that has not appeared this long after its time is not expected any more. */
const RERUN_LATE_MS = 30_000;
const RERUN_PAGE = 200;

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
  const stop = new AbortController();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
  const waits = [untilOver(http, first, { ...options, signal })];
  if (options.timeoutMs !== undefined) waits.push(timeLimit(runId, options.timeoutMs, signal));
  try {
    return endedRun(await Promise.race(waits));
  } finally {
    stop.abort();
    await Promise.allSettled(waits);
  }
}

async function untilOver(http: Http, first: Run, options: WaitOptions & { signal: AbortSignal }): Promise<Run> {
  const { signal, retryForMs = RETRY_FOR_MS, reruns = false } = options;
  for (let run = first; ; ) {
    if (!hasEnded(run)) run = await untilEnded(http, run.id, signal, retryForMs);
    const rerun = reruns ? await rerunOf(http, run, options) : null;
    if (rerun === null) return run;
    run = rerun;
  }
}

/**
 * The run that the server creates for a crashed run, once it exists; null for a run that is not run again.
 * @throws MillraceError when the server is not reached for too long
 */
export async function rerunOf(http: Http, crashed: Run, options: RerunOptions = {}): Promise<Run | null> {
  const dueUs = rerunAt(crashed.state);
  if (dueUs === null) return null;
  const { signal, retryForMs = RETRY_FOR_MS } = options;
  const { id, flow_id } = crashed;
  let lastMs = dueUs / 1000 + RERUN_LATE_MS;
  let reachedMs = Date.now();
  for (let cursor = id; ; ) {
    try {
      const query = { flow_id, sort: "created_asc", limit: RERUN_PAGE, cursor };
      const { items } = await http.get<Page<Run>>("/api/runs", query, signal);
      const rerun = items.find(({ created_by }) => created_by === `crash:${id}`);
      if (rerun !== undefined) return rerun;
      reachedMs = Date.now();
      cursor = items.at(-1)?.id ?? cursor;
      if (items.length === RERUN_PAGE) continue;
      if (reachedMs > lastMs) return null;
    } catch (error) {
      ifPassing(error);
      if (Date.now() - reachedMs >= retryForMs) throw error;
      // A server that is away creates the rerun when it is back.
      lastMs = Math.max(lastMs, Date.now() + RERUN_LATE_MS);
    }
    await pause(PAUSE_MS, signal);
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

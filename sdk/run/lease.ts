import type { AcquireResponse } from "#protocol/records/lease";
import { type ActiveRun, currentScope, currentSignal } from "../execution/active-run.ts";
import { writeLog } from "../execution/run-log.ts";

const DEBUG = 10;
const WARNING = 30;

/** The longest the server holds a request (interface: Limits, wait_ms). */
const WAIT_MS = 30_000;

/**
 * Calls a function while the run holds amounts of named resources beyond those of its flow: all of them or none, after waiting
 * in line for them. Outside a run the function is called at once.
 * Amounts above a total are waited for until the total is raised; the run's log has a WARNING then. A run that waits inside
 * `lease` for resources it already holds waits for ever.
 * @throws RangeError for amounts that are not numbers above 0
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, lease } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const copy = flow("copy", async () => await lease({ database: 1 }, async () => "copied"));
 *
 * const { result } = await runFlow(copy);
 * assert.equal(result, "copied");
 * ```
 */
export async function lease<Result>(resources: Record<string, number>, fn: () => Result): Promise<Awaited<Result>> {
  checkResources(resources);
  const scope = currentScope();
  if (scope === undefined) return await fn();
  const told = (wait: ResourceWait) => logWait(scope.run, scope.task?.externalId ?? null, wait);
  const held = await holdResources(scope.run, resources, currentSignal(), told);
  try {
    return await fn();
  } finally {
    held.release();
  }
}

export interface HeldResources {
  release(): void;
}

/** The answer to an acquire that got no lease. */
export type ResourceWait = Extract<AcquireResponse, { waiting: string }>;

/** Logs a wait; a wait for more than the total is a warning. */
export function logWait(run: ActiveRun, taskId: string | null, { waiting, text, unreachable }: ResourceWait): void {
  const why = text === undefined ? "" : `: ${text}`;
  writeLog(run, taskId, unreachable === true ? WARNING : DEBUG, "millrace.run", `waiting for ${waiting}${why}`);
}

/**
 * Waits in line for resources. If there is a wait, `waits` is called once.
 * @throws the signal's reason when the signal aborts; MillraceError when the server refuses
 */
export async function holdResources(
  run: ActiveRun,
  resources: Record<string, number>,
  signal: AbortSignal,
  waits: (wait: ResourceWait) => void,
): Promise<HeldResources> {
  const { services } = run;
  let answer = await services.acquire(resources, 0, signal);
  if ("waiting" in answer) waits(answer);
  while ("waiting" in answer) answer = await services.acquire(resources, WAIT_MS, signal);
  const { lease } = answer;
  // The release is not awaited: a lease that could not be returned ends with the run at the latest.
  const release = () => void services.release(lease).catch(() => undefined);
  if (signal.aborted) release();
  signal.throwIfAborted();
  return { release };
}

/** @throws RangeError naming what is wrong */
export function checkResources(resources: Record<string, number>): void {
  const entries = Object.entries(resources);
  if (entries.length === 0) throw new RangeError("resources name at least one resource with its amount");
  for (const [name, amount] of entries) {
    if (typeof amount !== "number" || !(amount > 0) || !Number.isFinite(amount)) {
      throw new RangeError(`the amount of resource "${name}" is a number above 0, not ${String(amount)}`);
    }
  }
}

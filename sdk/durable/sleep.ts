import { INTEGER_MAX, PARK_AFTER_SECS_DEFAULT } from "#protocol/limits";
import type { NewWait } from "#protocol/records/durable";
import { type Duration, parseDuration } from "../define/duration.ts";
import { currentScope, currentSignal, isLeftBehind } from "../execution/active-run.ts";
import { systemClock } from "../execution/clock.ts";
import { never } from "./suspension.ts";
import { type DurableWaitOptions, insideTask, needsDurable, waitCall, waitIdentity } from "./wait-call.ts";

/** Later times cannot be stored: year 2255. */
const DATE_MS_MAX = INTEGER_MAX / 1_000;

/**
 * Waits for a number of seconds, or a text such as "3d". In a durable flow a run that only waits leaves its engine, and
 * continues when the time has passed, also after restarts of the server. In other flows, and inside a task, a sleep may last up
 * to 5 s.
 * @throws Error for a longer sleep there; RangeError for an invalid duration
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, sleep } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const reminder = flow("reminder", { durable: true }, async () => {
 *   await sleep("3d");
 *   return "three days later";
 * });
 *
 * // The test takes no three days: time is simulated.
 * const { result } = await runFlow(reminder);
 * assert.equal(result, "three days later");
 * ```
 */
export async function sleep(duration: Duration, options: DurableWaitOptions = {}): Promise<void> {
  const seconds = parseDuration(duration);
  if (isLeftBehind()) return await never();
  const what = `sleep(${JSON.stringify(duration)})`;
  const scope = currentScope();
  const durable = scope?.run.durable ?? null;
  if (scope === undefined) return await systemClock.sleep(seconds * 1_000);
  if (durable === null || scope.task !== null) {
    if (seconds > (durable?.facts.parkAfterSecs ?? PARK_AFTER_SECS_DEFAULT))
      throw durable === null ? needsDurable(what, scope.run.flow) : insideTask(what, scope);
    return await scope.run.clock.sleep(seconds * 1_000, currentSignal());
  }
  const call = waitIdentity(scope.caller ?? durable.root, "sleep", options.key, [seconds]);
  const name = `sleep ${duration}`;
  if (seconds <= durable.facts.parkAfterSecs) return await durable.waitHere(seconds, { ...call, name });
  await settled({ ...call, kind: "sleep", name, delay: seconds }, options);
}

/**
 * Waits until a time, as sleep() does; a time that has passed needs no wait. When the flow begins again, the n-th call keeps
 * the time that it was first called with, even if it is called with another time now.
 * @throws RangeError for a date that is not valid or later than the year 2255
 * @throws Error outside a durable flow's function for a time that is further away than 5 s
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, sleepUntil } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const launch = flow("launch", { durable: true }, async () => {
 *   await sleepUntil(new Date("2026-06-01T09:00:00Z"));
 *   return "launched";
 * });
 *
 * // Simulated time begins with the year 2026.
 * const { result } = await runFlow(launch);
 * assert.equal(result, "launched");
 * ```
 */
export async function sleepUntil(date: Date, options: DurableWaitOptions = {}): Promise<void> {
  const ms = date instanceof Date ? date.getTime() : Number.NaN;
  if (!(Math.abs(ms) <= DATE_MS_MAX))
    throw new RangeError(`sleepUntil() takes a date up to ${new Date(DATE_MS_MAX).toISOString()}, not ${String(date)}`);
  const scope = currentScope();
  if (scope === undefined || scope.run.durable === null || scope.task !== null) {
    const nowMs = (scope?.run.clock ?? systemClock).nowUs() / 1_000;
    return await sleep(Math.max(0, ms - nowMs) / 1_000, options);
  }
  const { durable } = scope.run;
  const call = waitIdentity(scope.caller ?? durable.root, "sleepUntil", options.key, []);
  await settled({ ...call, kind: "sleep", name: `sleep until ${date.toISOString()}`, until: Math.round(ms * 1_000) }, options);
}

async function settled(wait: NewWait, { hold }: DurableWaitOptions): Promise<void> {
  const call = waitCall(wait.name);
  if (call === null) return await never();
  await call.durable.outcome(await call.durable.arm(wait), hold);
}

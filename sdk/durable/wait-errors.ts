/** How waits of a durable run fail. */

/**
 * A wait was ended by its timeout.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, waitForEvent, WaitTimeout } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const remind = flow("remind", { durable: true }, async () => {
 *   try {
 *     await waitForEvent("order.paid", { timeout: "3d" });
 *     return "paid";
 *   } catch (error) {
 *     if (error instanceof WaitTimeout) return "reminder sent";
 *     throw error;
 *   }
 * });
 *
 * const { result } = await runFlow(remind);
 * assert.equal(result, "reminder sent");
 * ```
 */
export class WaitTimeout extends Error {
  override readonly name = "WaitTimeout";
  /** What was waited for: `event "paid"`. */
  readonly waitedFor: string;
  /** The timeout, in seconds. */
  readonly seconds: number;

  constructor(waitedFor: string, seconds: number) {
    super(`${waitedFor} did not come within ${seconds} s`);
    this.waitedFor = waitedFor;
    this.seconds = seconds;
  }
}

/**
 * A child run has ended without completing.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { child, ChildFailed, flow } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const load = flow("load", async (): Promise<string> => {
 *   throw new Error("no file");
 * });
 * const nightly = flow("nightly", { durable: true }, async () => {
 *   try {
 *     return await child(load).run();
 *   } catch (error) {
 *     if (error instanceof ChildFailed) return `load is ${error.state}: ${error.stateMessage}`;
 *     throw error;
 *   }
 * });
 *
 * const { result } = await runFlow(nightly);
 * assert.equal(result, "load is Failed: Error: no file");
 * ```
 */
export class ChildFailed extends Error {
  override readonly name = "ChildFailed";
  /** The child's run, the newest one if it was run again. */
  readonly runId: number;
  /** The last state of the child: Failed, TimedOut, Cancelled, Crashed, Skipped; Deleted if it no longer exists. */
  readonly state: string;
  /** The message of that state. */
  readonly stateMessage: string | null;

  constructor(flow: string, runId: number, state: string, stateMessage: string | null) {
    super(`run ${runId} of ${flow} is ${state}${stateMessage === null ? "" : `: ${stateMessage}`}`);
    this.runId = runId;
    this.state = state;
    this.stateMessage = stateMessage;
  }
}

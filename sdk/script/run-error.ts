import type { Run } from "../client/records.ts";

/**
 * A flow that a script called did not complete. If its function threw in this process, the error is the `cause`.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, RunError } from "millrace";
 *
 * const load = flow("load", async () => {
 *   throw new Error("no file");
 * });
 *
 * // A script without a server: the call creates a run in the home and executes it here.
 * try {
 *   await load();
 * } catch (error) {
 *   assert.ok(error instanceof RunError);
 *   assert.equal(error.state, "Failed");
 * }
 * ```
 */
export class RunError extends Error {
  override readonly name = "RunError";
  /** The run of the call. */
  readonly runId: number;
  /** The run's state: Failed, Cancelled, Crashed or Paused, or a sub-state of these. */
  readonly state: string;

  constructor({ id, name, state }: Pick<Run, "id" | "name" | "state">, cause?: unknown) {
    const advice = state.type === "Paused" ? `; answer it under a server: millrace runs input ${id}` : "";
    super(`run ${id} (${name}) is ${state.name}${state.message === null ? "" : `: ${state.message}`}${advice}`, { cause });
    this.runId = id;
    this.state = state.name;
  }
}

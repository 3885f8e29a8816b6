import { RESULT_BYTES_MAX } from "#protocol/limits";
import { type FailureReason, MillraceError } from "./error.ts";
import type { Run } from "./records.ts";

/**
 * A run completed, but its result is not stored: JSON has no form for it, or it is too large (ResultTooLargeError).
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { Millrace, ResultLostError } from "millrace/client";
 *
 * const client = new Millrace();
 * const run = await client.runs.create({ project: "shop", flow: "connect" });
 * try {
 *   await client.waitFor(run.id);
 * } catch (error) {
 *   assert.ok(error instanceof ResultLostError);
 *   assert.equal(error.run.state.type, "Completed");
 * }
 * ```
 */
export class ResultLostError extends MillraceError {
  /** The run, which is Completed. */
  readonly run: Run;

  constructor(run: Run, message: string, reason: FailureReason) {
    super(message, { reason, status: 0 });
    this.run = run;
  }
}

/**
 * A run completed, but its result is larger than what is stored (64,000 bytes as JSON).
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { Millrace, ResultTooLargeError } from "millrace/client";
 *
 * const client = new Millrace();
 * const run = await client.runs.create({ project: "shop", flow: "export" });
 * try {
 *   await client.waitFor(run.id);
 * } catch (error) {
 *   assert.ok(error instanceof ResultTooLargeError);
 *   assert.equal(error.run.state.type, "Completed");
 * }
 * ```
 */
export class ResultTooLargeError extends ResultLostError {
  /** Size of the result as JSON. */
  readonly bytes: number;

  constructor(run: Run, bytes: number) {
    const advice = "let the flow write it to a file or publish an artifact, and return where it is";
    const size = `${bytes} bytes, more than the ${RESULT_BYTES_MAX} that are stored`;
    super(run, `the result of run ${run.id} has ${size}; ${advice}`, "result-too-large");
    this.bytes = bytes;
  }
}

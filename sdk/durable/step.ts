import type { RetryOptions } from "../define/retry.ts";
import { type TaskOptions, task } from "../define/task.ts";
import type { TaskRun } from "../execution/task-run.ts";

/** Options of `step`. */
export interface StepOptions
  extends RetryOptions,
    Pick<TaskOptions<[]>, "timeout" | "resources" | "cache" | "hooks" | "onChange"> {
  /** Identifies the step when the flow begins again. Default: its name, and its order among steps of that name. */
  key?: string;
}

/**
 * A task that is defined where it is called. In a durable flow the result of the function is stored, and a run that continues
 * later takes the stored result. Put effects on the outside world, and everything that may give another result the next time,
 * into a step.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, step } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const order = flow("order", { durable: true }, async () => {
 *   const number = await step("reserve", async () => 4711);
 *   return `order ${number}`;
 * });
 *
 * const { result } = await runFlow(order);
 * assert.equal(result, "order 4711");
 * ```
 */
export function step<Result>(name: string, fn: () => Result, options: StepOptions = {}): TaskRun<Awaited<Result>> {
  return task<[], Result>(name, options, fn)();
}

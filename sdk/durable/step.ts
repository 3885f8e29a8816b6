import type { RetryOptions } from "../define/retry.ts";
import { type TaskOptions, task } from "../define/task.ts";
import type { TaskRun } from "../execution/task-run.ts";

/** Options of `step`. */
export interface StepOptions
  extends RetryOptions,
    Pick<TaskOptions<[]>, "timeout" | "resources" | "cache" | "hooks" | "onChange"> {
  /** What the step is recognised by when the flow begins again. Default: its name, and its order among steps of that name. */
  key?: string;
}

/**
 * A task in place: in a durable flow the result of the function is stored, and a run that goes on later finds it there. What a
 * flow does to the world outside, and what may differ when it is done again, belongs into a step.
 */
export function step<Result>(name: string, fn: () => Result, options: StepOptions = {}): TaskRun<Awaited<Result>> {
  return task<[], Result>(name, options, fn)();
}

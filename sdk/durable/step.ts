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
 */
export function step<Result>(name: string, fn: () => Result, options: StepOptions = {}): TaskRun<Awaited<Result>> {
  return task<[], Result>(name, options, fn)();
}

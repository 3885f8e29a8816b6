import { currentSignal } from "../execution/active-run.ts";
import type { TaskArguments } from "../execution/arguments.ts";
import type { TaskDefinition } from "../execution/task-execution.ts";
import type { TaskRun } from "../execution/task-run.ts";
import { checkResources } from "../run/lease.ts";
import { noteUnknownOptions, type OptionNames } from "./declaration-notes.ts";
import { type Duration, parseDuration } from "./duration.ts";
import { TASK_HOOK_NAMES, type TaskHooks } from "./hooks.ts";
import { checkRetryOptions, RETRY_NAMES, type RetryOptions } from "./retry.ts";
import type { Target } from "./target.ts";
import { callTask, checkCount, labelled, type MapTask, mapItems } from "./task-map.ts";

/** Options of `task`. */
export interface TaskOptions<Args extends readonly unknown[]> extends RetryOptions {
  /** Time limit of one attempt; the task's signal aborts and the attempt fails as TimedOut. Default: none. */
  timeout?: Duration;
  /** How many task runs of this task may execute at once in one run; the others wait as Pending. Default: no bound. */
  concurrency?: number;
  /**
   * Amounts of named resources that a task run holds while its function executes; until they are free it waits as
   * AwaitingResource.
   */
  resources?: Record<string, number>;
  /**
   * Results are stored under this key and returned without a call until they expire: JSON, and Date, bigint, Map, Set, typed
   * arrays and Error. Another result, as with a function, is not stored; the run's log has a warning then.
   */
  cache?: { key: string | ((...args: Args) => string); expires?: Duration };
  /**
   * The product of the task: the task is skipped when the target exists. The result is then the target itself, made or found.
   */
  output?: Target | ((...args: Args) => Target);
  /** Functions that are called when a task run ends. */
  hooks?: TaskHooks;
  /**
   * In a durable flow: identifies a call when the flow begins again, instead of its arguments; the task is called once per key
   * and run. Needed for arguments that are not plain data.
   */
  key?: string | ((...args: Args) => string);
  /**
   * In a durable flow: what happens when a call has no stored result, but another call of the task has one that was not asked
   * for. "run" (default) calls the task and logs a warning, "fail" fails the call.
   */
  onChange?: "run" | "fail";
}

/** A task: a call inside a run is a task run, elsewhere an ordinary function call. */
export interface Task<Args extends readonly unknown[], Result> {
  (...args: TaskArguments<Args>): TaskRun<Result>;
  /** Calls the task for each of a list of items, or for batches of them. */
  readonly map: MapTask<Args[0], Result>;
  /**
   * The same task with other options for the calls made with it: `fetch.with({ retries: 5, label: "2026-01-01" })(url)`. Options that
   * are left out are those of the declaration, whose `concurrency` bounds these calls too.
   */
  with(options: TaskCallOptions<Args>): Task<Args, Result>;
}

/** Options of single calls. */
export interface TaskCallOptions<Args extends readonly unknown[]> extends Omit<TaskOptions<Args>, "concurrency" | "output"> {
  /** Names the task run: with the label "a" it is "fetch-a" instead of "fetch-0". A repeated label gets "-2", "-3". */
  label?: string;
}

type OutputOptions<Args extends readonly unknown[], Made extends Target> = Omit<TaskOptions<Args>, "output"> & {
  output: Made | ((...args: Args) => Made);
};

interface DeclareTask {
  <Args extends unknown[], Result>(name: string, fn: (...args: Args) => Result): Task<Args, Awaited<Result>>;
  <Args extends unknown[], Made extends Target>(
    name: string,
    options: OutputOptions<Args, Made>,
    fn: (...args: Args) => unknown,
  ): Task<Args, Made>;
  <Args extends unknown[], Result>(
    name: string,
    options: TaskOptions<Args>,
    fn: (...args: Args) => Result,
  ): Task<Args, Awaited<Result>>;
  /** The signal of the current task run, else of the run; outside a run a signal that never aborts. */
  readonly signal: AbortSignal;
}

/**
 * Declares a task: `task(name, options?, fn)`.
 * @throws TypeError, RangeError for a missing name or function and for options out of range.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, task } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const double = task("double", { retries: 2 }, async (value: number) => value * 2);
 * const doubled = flow("doubled", async () => await double(21));
 *
 * const { result } = await runFlow(doubled);
 * assert.equal(result, 42);
 * ```
 */
export const task: DeclareTask = Object.defineProperty(declareTask, "signal", { get: currentSignal }) as unknown as DeclareTask;

type AnyFunction = (...args: unknown[]) => unknown;

function declareTask(name: string, ...rest: [AnyFunction] | [TaskOptions<never[]>, AnyFunction]): Task<unknown[], unknown> {
  const [options, fn] = rest.length === 1 ? [{}, rest[0]] : rest;
  noteUnknownOptions(`task "${String(name)}"`, options, NAMES);
  return taskOf(checked(name, options, fn));
}

function taskOf(definition: TaskDefinition): Task<unknown[], unknown> {
  const call = (...args: unknown[]): TaskRun<unknown> => callTask(definition, args) as TaskRun<unknown>;
  Object.defineProperty(call, "name", { value: definition.name });
  return Object.assign(call, {
    map: ((items, options) => mapItems(definition, items, options)) as MapTask<unknown, unknown>,
    with: (options: TaskCallOptions<unknown[]>) => taskOf(withOptions(definition, options)),
  });
}

function withOptions(definition: TaskDefinition, { label, ...options }: TaskCallOptions<never[]>): TaskDefinition {
  const { name, fn, declared = definition } = definition;
  noteUnknownOptions(`with() of task "${name}"`, options, CALL_NAMES);
  const changed = { ...definition, ...checked(name, { ...definition.options, ...options }, fn), declared };
  return label === undefined ? changed : labelled(changed, label);
}

const CALL_NAMES: OptionNames<Omit<TaskCallOptions<never[]>, "label">> = {
  ...RETRY_NAMES,
  ...{ timeout: true, resources: true, cache: true, hooks: true, key: true, onChange: true },
};

const NAMES: OptionNames<TaskOptions<never[]>> = {
  ...CALL_NAMES,
  ...{ concurrency: true, output: true },
};

function checked(name: unknown, options: TaskOptions<never[]>, fn: unknown): TaskDefinition {
  if (typeof name !== "string" || name === "") throw new TypeError("a task needs a name: task(name, options?, fn)");
  if (typeof fn !== "function") throw new TypeError(`task "${name}" needs a function: task(name, options?, fn)`);
  noteUnknownOptions(`hooks of task "${name}"`, options.hooks, TASK_HOOK_NAMES);
  noteUnknownOptions(`cache of task "${name}"`, options.cache, { key: true, expires: true });
  checkRetryOptions(options);
  if (options.concurrency !== undefined) checkCount("concurrency", options.concurrency);
  if (options.resources !== undefined) checkResources(options.resources);
  if (options.onChange !== undefined && options.onChange !== "run" && options.onChange !== "fail")
    throw new RangeError(`onChange of task "${name}" is "run" or "fail", not "${String(options.onChange)}"`);
  if (options.cache?.expires !== undefined) parseDuration(options.cache.expires);
  const timeoutSeconds = options.timeout === undefined ? null : parseDuration(options.timeout);
  return { name, options, timeoutSeconds, fn: fn as AnyFunction };
}

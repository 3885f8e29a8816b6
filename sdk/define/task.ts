import { currentScope, currentSignal, Gate } from "../execution/active-run.ts";
import { rememberOrigin, resolveArguments, type TaskArguments, type TaskInput } from "../execution/arguments.ts";
import { startTaskRun, type TaskDefinition } from "../execution/task-execution.ts";
import { TaskRun } from "../execution/task-run.ts";
import { checkResources } from "../run/lease.ts";
import { noteUnknownOptions, type OptionNames } from "./declaration-notes.ts";
import { type Duration, parseDuration } from "./duration.ts";
import { TASK_HOOK_NAMES, type TaskHooks } from "./hooks.ts";
import { checkRetryOptions, RETRY_NAMES, type RetryOptions } from "./retry.ts";
import type { Target } from "./target.ts";

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
  /** Results are stored as JSON under this key and returned without a call until they expire. */
  cache?: { key: string | ((...args: Args) => string); expires?: Duration };
  /**
   * The product of the task: the task is skipped when the target exists. The result is then the target itself, made or found.
   */
  output?: Target | ((...args: Args) => Target);
  hooks?: TaskHooks;
}

/** A task: a call inside a run is a task run, elsewhere an ordinary function call. */
export interface Task<Args extends readonly unknown[], Result> {
  (...args: TaskArguments<Args>): TaskRun<Result>;
  /** Calls the task once per item; resolves to the results in the items' order. `concurrency` bounds the concurrent calls. */
  map(items: MapItems<Args[0]>, options?: { concurrency?: number }): Promise<Result[]>;
}

type MapItems<Item> = readonly TaskInput<Item>[] | PromiseLike<readonly Item[]>;

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
 */
export const task: DeclareTask = Object.defineProperty(declareTask, "signal", { get: currentSignal }) as unknown as DeclareTask;

type AnyFunction = (...args: unknown[]) => unknown;

function declareTask(name: string, ...rest: [AnyFunction] | [TaskOptions<never[]>, AnyFunction]): Task<unknown[], unknown> {
  const [options, fn] = rest.length === 1 ? [{}, rest[0]] : rest;
  const definition = checked(name, options, fn);
  const call = (...args: unknown[]): TaskRun<unknown> => {
    const scope = currentScope();
    return scope === undefined ? plainCall(definition, args) : startTaskRun(scope, definition, args);
  };
  Object.defineProperty(call, "name", { value: name });
  return Object.assign(call, {
    map: (items: MapItems<unknown>, { concurrency }: { concurrency?: number } = {}) => mapItems(definition, items, concurrency),
  });
}

const NAMES: OptionNames<TaskOptions<never[]>> = {
  ...RETRY_NAMES,
  ...{ timeout: true, concurrency: true, resources: true, cache: true, output: true, hooks: true },
};

function checked(name: unknown, options: TaskOptions<never[]>, fn: unknown): TaskDefinition {
  if (typeof name !== "string" || name === "") throw new TypeError("a task needs a name: task(name, options?, fn)");
  if (typeof fn !== "function") throw new TypeError(`task "${name}" needs a function: task(name, options?, fn)`);
  noteUnknownOptions(`task "${name}"`, options, NAMES);
  noteUnknownOptions(`hooks of task "${name}"`, options.hooks, TASK_HOOK_NAMES);
  noteUnknownOptions(`cache of task "${name}"`, options.cache, { key: true, expires: true });
  checkRetryOptions(options);
  if (options.concurrency !== undefined) checkPlaces(options.concurrency);
  if (options.resources !== undefined) checkResources(options.resources);
  if (options.cache?.expires !== undefined) parseDuration(options.cache.expires);
  const timeoutSeconds = options.timeout === undefined ? null : parseDuration(options.timeout);
  return { name, options, timeoutSeconds, fn: fn as AnyFunction };
}

function checkPlaces(concurrency: number): number {
  if (!(Number.isInteger(concurrency) && concurrency >= 1)) {
    throw new RangeError(`concurrency is a whole number from 1 up, not ${concurrency}`);
  }
  return concurrency;
}

/** A call outside a run: the function itself with the resolved arguments. */
function plainCall(definition: TaskDefinition, args: readonly unknown[]): TaskRun<unknown> {
  const call = async () => definition.fn(...(await resolveArguments(args)));
  return new TaskRun("", definition.name, definition.name, new AbortController(), call());
}

function mapItems(definition: TaskDefinition, items: MapItems<unknown>, concurrency: number | undefined): Promise<unknown[]> {
  const gate = concurrency === undefined ? undefined : new Gate(checkPlaces(concurrency));
  if (!isList(items))
    return Promise.resolve(items).then((list) => Promise.all(list.map((item) => callOne(definition, item, gate))));
  const calls = items.map((item) => callOne(definition, item, gate));
  const all = Promise.all(calls);
  // A task that takes the mapped results depends on all of these task runs.
  rememberOrigin(
    all,
    calls.filter((call) => call instanceof TaskRun).map((call) => call.id),
  );
  return all;
}

function callOne(definition: TaskDefinition, item: unknown, gate: Gate | undefined): TaskRun<unknown> | Promise<unknown> {
  const scope = currentScope();
  if (scope !== undefined) return startTaskRun(scope, definition, [item], gate);
  const waiting = gate?.enter() ?? null;
  const call = waiting === null ? plainCall(definition, [item]) : waiting.then(() => plainCall(definition, [item]));
  return call.finally(() => gate?.leave());
}

function isList(items: MapItems<unknown>): items is readonly unknown[] {
  return Array.isArray(items);
}

import { never } from "../durable/suspension.ts";
import { currentScope, Gate, isLeftBehind } from "../execution/active-run.ts";
import { rememberOrigin, resolveArguments, type TaskInput } from "../execution/arguments.ts";
import { startTaskRun, type TaskDefinition } from "../execution/task-execution.ts";
import { TaskRun } from "../execution/task-run.ts";
import { noteUnknownOptions } from "./declaration-notes.ts";

/** Characters of a label: it is shown in lists and graphs, and shares the 1,000 of a dynamic key with the task's name. */
const LABEL_CHARS_MAX = 200;

interface MapOptions<Item, Settle extends boolean> {
  /** How many calls may execute at once; the others wait as Pending. Default: no bound. */
  concurrency?: number;
  /**
   * With true, every call is awaited and failures reject nothing: the results are those of `Promise.allSettled`, `{ status:
   * "fulfilled", value }` or `{ status: "rejected", reason }`. By default the first failure rejects.
   */
  settle?: Settle;
  /** Names the task run of an item: with the label "a" it is "fetch-a" instead of "fetch-0". A repeated label gets "-2", "-3". */
  label?: (item: Item, index: number) => string;
}

type MapResult<Result, Settle extends boolean> = Settle extends true ? PromiseSettledResult<Result> : Result;

type List<Item> = Iterable<Item> | PromiseLike<Iterable<Item>>;

/** The entries of a list; no type for what is no list. */
type EntryOf<Items> = Items extends readonly (infer Entry)[] ? Entry : never;

/** The three forms of `task.map`: of lists of items in batches, of items, and of items that may be promises. */
export interface MapTask<Item, Result> {
  /** Calls the task once per batch of at most `batchSize` items; resolves to one result per batch, in order. */
  <Settle extends boolean = false>(
    items: List<EntryOf<Item>>,
    options: MapOptions<readonly EntryOf<Item>[], Settle> & { batchSize: number },
  ): Promise<MapResult<Result, Settle>[]>;
  /** Calls the task once per item; resolves to the results in the items' order. */
  <Settle extends boolean = false>(
    items: List<Item>,
    options?: MapOptions<Item, Settle> & { batchSize?: undefined },
  ): Promise<MapResult<Result, Settle>[]>;
  <Settle extends boolean = false>(
    items: Iterable<TaskInput<Item>>,
    options?: MapOptions<TaskInput<Item>, Settle> & { batchSize?: undefined },
  ): Promise<MapResult<Result, Settle>[]>;
}

interface AnyMapOptions extends Omit<MapOptions<never, boolean>, "label"> {
  label?: (item: never, index: number) => string;
  batchSize?: number | undefined;
}

/**
 * @throws RangeError for a bound below 1; TypeError for items that are no list; TypeError, RangeError for labels that cannot be
 * shown, before any call
 */
export function mapItems(definition: TaskDefinition, items: List<unknown>, options: AnyMapOptions = {}): Promise<unknown[]> {
  const { concurrency, batchSize, label, settle } = options;
  const known = { concurrency: true, batchSize: true, label: true, settle: true } as const;
  noteUnknownOptions(`map of task "${definition.name}"`, options, known);
  const gate = concurrency === undefined ? undefined : new Gate(checkCount("concurrency", concurrency));
  if (batchSize !== undefined) checkCount("batchSize", batchSize);
  const start = (items: unknown) => {
    const list = listOf(definition, items);
    const each = batchSize === undefined ? list : batchesOf(list, batchSize);
    const definitions = each.map((item, index) =>
      label === undefined ? definition : labelled(definition, label(item as never, index)),
    );
    const calls = definitions.map((one, index) => callTask(one, [each[index]], gate));
    const all = settle === true ? settled(calls) : Promise.all(calls);
    // A task that takes the mapped results depends on all of these task runs.
    rememberOrigin(all, calls.flatMap(idsOf));
    return all;
  };
  return isPromise(items) ? Promise.resolve(items).then(start) : start(items);
}

/** @throws RangeError unless it is a whole number from 1 up */
export function checkCount(name: string, count: number): number {
  if (!(Number.isInteger(count) && count >= 1)) throw new RangeError(`${name} is a whole number from 1 up, not ${count}`);
  return count;
}

/** @throws TypeError, RangeError for a label that cannot be shown */
export function labelled(definition: TaskDefinition, label: unknown): TaskDefinition {
  const what = `the label of a call of task "${definition.name}"`;
  if (typeof label !== "string") throw new TypeError(`${what} is a text, not ${label === null ? "null" : typeof label}`);
  if (label.trim() === "") throw new RangeError(`${what} is empty`);
  if (label.length > LABEL_CHARS_MAX)
    throw new RangeError(`${what} has ${label.length} characters, more than ${LABEL_CHARS_MAX}`);
  if (/\p{Cc}/u.test(label)) throw new RangeError(`${what} has a line break or another control character`);
  return { ...definition, declared: definition.declared ?? definition, label };
}

/** Calls a task: inside a run as a task run, elsewhere as a function. */
export function callTask(definition: TaskDefinition, args: readonly unknown[], gate?: Gate): TaskRun<unknown> | Promise<unknown> {
  const scope = currentScope();
  if (scope !== undefined) return startTaskRun(scope, definition, args, gate);
  if (gate === undefined) return plainCall(definition, args);
  const waiting = gate.enter();
  const call = waiting === null ? plainCall(definition, args) : waiting.then(() => plainCall(definition, args));
  return call.finally(() => gate.leave());
}

/** A call outside a run: the function itself with the resolved arguments. Code that a durable run has left calls nothing. */
function plainCall(definition: TaskDefinition, args: readonly unknown[]): TaskRun<unknown> {
  const call = isLeftBehind() ? never : async () => definition.fn(...(await resolveArguments(args)));
  return new TaskRun("", definition.name, definition.name, new AbortController(), call());
}

/** The outcomes of all calls. A task that takes an outcome depends on its task run. */
async function settled(calls: readonly Promise<unknown>[]): Promise<PromiseSettledResult<unknown>[]> {
  const outcomes = await Promise.allSettled(calls);
  for (const [index, outcome] of outcomes.entries()) rememberOrigin(outcome, calls.slice(index, index + 1).flatMap(idsOf));
  return outcomes;
}

function idsOf(call: Promise<unknown>): string[] {
  return call instanceof TaskRun ? [call.id] : [];
}

function batchesOf(list: readonly unknown[], size: number): unknown[][] {
  const count = Math.ceil(list.length / size);
  return Array.from({ length: count }, (_, index) => list.slice(index * size, (index + 1) * size));
}

/** @throws TypeError for what is no list; a text is one item, not a list of characters */
function listOf({ name }: TaskDefinition, items: unknown): readonly unknown[] {
  if (Array.isArray(items)) return items;
  if (typeof items === "object" && items !== null && Symbol.iterator in items) return [...(items as Iterable<unknown>)];
  const given = items === null ? "null" : typeof items;
  throw new TypeError(`map of task "${name}" takes an array or another iterable of items, not ${given}`);
}

function isPromise(items: List<unknown>): items is PromiseLike<Iterable<unknown>> {
  return typeof (items as Partial<PromiseLike<unknown>> | null)?.then === "function";
}

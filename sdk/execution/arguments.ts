import { shared } from "./shared-state.ts";

/**
 * The argument type of a task whose function takes a T: the value, a promise of it (usually a TaskRun), or an array or plain
 * object whose entries may be promises.
 */
export type TaskInput<T> =
  | T
  | PromiseLike<T>
  | (T extends (...args: never[]) => unknown
      ? never
      : T extends readonly (infer Element)[]
        ? readonly (Element | PromiseLike<Element>)[]
        : T extends object
          ? { [Key in keyof T]: T[Key] | PromiseLike<T[Key]> }
          : never);

export type TaskArguments<Args extends readonly unknown[]> = { [Index in keyof Args]: TaskInput<Args[Index]> };

/**
 * External ids of the task runs that the arguments come from, without duplicates: promises and returned objects, also one level
 * inside.
 */
export function parentsOf(args: readonly unknown[]): string[] {
  const parents = new Set<string>();
  for (const arg of args) {
    if (typeof arg !== "object" || arg === null) continue;
    addOrigin(parents, arg);
    if (Array.isArray(arg)) for (const entry of arg) addOrigin(parents, entry);
    else if (isPlainObject(arg)) for (const key in arg) addOrigin(parents, arg[key]);
  }
  return [...parents];
}

/** Records which task runs an object comes from. */
export function rememberOrigin(value: unknown, taskRunIds: string[]): void {
  if (typeof value === "object" && value !== null) shared.origins.set(value, taskRunIds);
}

/** Resolves promises among the arguments, also one level inside; without promises returns the same array synchronously. */
export function resolveArguments(args: readonly unknown[]): readonly unknown[] | Promise<unknown[]> {
  return args.some(holdsPromise) ? Promise.all(args.map(resolveOne)) : args;
}

function resolveOne(arg: unknown): unknown {
  if (!holdsPromise(arg) || isPromiseLike(arg)) return arg;
  if (Array.isArray(arg)) return Promise.all(arg);
  return resolveEntries(arg as Record<string, unknown>);
}

async function resolveEntries(object: Record<string, unknown>): Promise<Record<string, unknown>> {
  const keys = Object.keys(object);
  const values = await Promise.all(keys.map((key) => object[key]));
  return Object.fromEntries(keys.map((key, index) => [key, values[index]]));
}

function holdsPromise(arg: unknown): boolean {
  if (typeof arg !== "object" || arg === null) return false;
  if (isPromiseLike(arg)) return true;
  if (Array.isArray(arg)) return arg.some(isPromiseLike);
  return isPlainObject(arg) && Object.values(arg).some(isPromiseLike);
}

function addOrigin(parents: Set<string>, value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const id of shared.origins.get(value) ?? []) parents.add(id);
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function isPlainObject(value: object): value is Record<string, unknown> {
  const prototype = Object.getPrototypeOf(value) as unknown;
  return prototype === Object.prototype || prototype === null;
}

import { Cancelled } from "./failure.ts";

// A handler may name the type that it expects, as that of a promise may.
// biome-ignore lint/suspicious/noExplicitAny: the reason of a promise has this type in the library of TypeScript.
type Reason = any;

/**
 * One call of a task inside a run: a promise of the task's result that can also be cancelled.
 * A failed TaskRun is not an unhandled rejection; if the TaskRun has not been awaited by the end of the flow function, its
 * error fails the run.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, task, type TaskRun } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const fetchPage = task("fetch-page", async (page: number) => `page ${page}`);
 * const both = flow("both", async () => {
 *   // Both calls execute at the same time.
 *   const calls: TaskRun<string>[] = [fetchPage(1), fetchPage(2)];
 *   assert.deepEqual(calls.map(({ dynamicKey }) => dynamicKey), ["fetch-page-0", "fetch-page-1"]);
 *   return await Promise.all(calls);
 * });
 *
 * const { result } = await runFlow(both);
 * assert.deepEqual(result, ["page 1", "page 2"]);
 * ```
 */
export class TaskRun<T> implements Promise<T> {
  /** UUID of the task run (`external_id` over the wire). */
  id: string;
  /** The name of the task. */
  readonly name: string;
  /** The task's name with a number within the run, "add-0", or with the label of the call. */
  readonly dynamicKey: string;
  readonly #promise: Promise<T>;
  readonly #controller: AbortController;
  #observed = false;
  #error: { thrown: unknown } | null = null;

  /** @internal */
  constructor(id: string, name: string, dynamicKey: string, controller: AbortController, promise: Promise<T>) {
    this.id = id;
    this.name = name;
    this.dynamicKey = dynamicKey;
    this.#controller = controller;
    this.#promise = promise;
    promise.catch((thrown: unknown) => {
      this.#error = { thrown };
    });
  }

  /** Aborts the task's signal and rejects this promise with Cancelled; no effect after the end. */
  cancel(reason = "cancelled"): void {
    this.#controller.abort(new Cancelled(reason));
  }

  /** As of a promise; a failure that is handled here does not fail the run. */
  // biome-ignore lint/suspicious/noThenProperty: a TaskRun is a promise.
  then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: Reason) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#observed = true;
    return this.#promise.then(onFulfilled, onRejected);
  }

  /** As of a promise; a failure that is handled here does not fail the run. */
  catch<B = never>(onRejected?: ((reason: Reason) => B | PromiseLike<B>) | null): Promise<T | B> {
    this.#observed = true;
    return this.#promise.catch(onRejected);
  }

  /** As of a promise. */
  finally(onFinally?: (() => void) | null): Promise<T> {
    this.#observed = true;
    return this.#promise.finally(onFinally);
  }

  get [Symbol.toStringTag](): string {
    return "TaskRun";
  }

  /** @internal The task run that did the work earlier in this run. */
  adopt(id: string): void {
    this.id = id;
  }

  /** @internal Resolves when the task run has ended in any state. */
  settled(): Promise<unknown> {
    return this.#promise.catch(() => undefined);
  }

  /** @internal The error of a failed task run that has not been awaited. */
  unobservedError(): { thrown: unknown } | null {
    return this.#observed ? null : this.#error;
  }
}

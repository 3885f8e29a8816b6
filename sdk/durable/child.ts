import type { WaitOutcome } from "#protocol/records/durable";
import { type Duration, parseDuration } from "../define/duration.ts";
import { definitionOf, type Flow } from "../define/flow.ts";
import { Gate } from "../execution/active-run.ts";
import type { DurableRun } from "./durable-run.ts";
import { never } from "./suspension.ts";
import { type DurableWaitOptions, waitCall, waitIdentity } from "./wait-call.ts";
import { ChildFailed } from "./wait-errors.ts";

/** Options of a child run. */
export interface ChildOptions extends DurableWaitOptions {
  /** How long until the child is due. Default: at once. */
  delay?: Duration;
  /** Tags of the child, in addition to those of its flow. */
  tags?: readonly string[];
  /** Higher runs first. Default: the priority of the flow. */
  priority?: number;
  /** What becomes of a child that has not ended when this run ends. Default "cancel". */
  onParentEnd?: "cancel" | "leave";
}

/** A child run that was started. */
export interface ChildRun<Result> {
  /** The id of the child's run. */
  readonly id: number;
  /** Waits for its end. @throws ChildFailed for every end but Completed */
  result(): Promise<Result>;
}

/** A child run that `child` describes; one of its methods starts it. */
export interface Child<Result> {
  /** Creates the run; a call that is recognised as an earlier one creates no second run. */
  start(): Promise<ChildRun<Result>>;
  /** Creates the run and waits for its result. @throws ChildFailed for every end but Completed */
  run(): Promise<Result>;
}

/**
 * A run of another flow that the current run calls, with its own options, retries and history; a plain call of a flow executes it
 * as part of the current run. The child is recognised by its flow and parameters, or by `key`: the same key is the same child.
 * Its result arrives as JSON: a Date as a text, a Map as `{}`.
 * @throws TypeError when `flow` was not made by flow(); at the start: ParameterError; Error outside a durable flow's function,
 * for an unknown flow, and for more than 8 children inside each other
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { child, flow, Type } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const invoice = flow("invoice", { parameters: Type.Object({ order: Type.Integer() }) }, async ({ order }) => `invoice ${order}`);
 * const sale = flow("sale", { durable: true }, async () => await child(invoice, { order: 7 }, { delay: "1d" }).run());
 *
 * const { result } = await runFlow(sale);
 * assert.equal(result, "invoice 7");
 * ```
 */
export function child<Given extends [parameters?: object], Result>(
  flow: (...parameters: Given) => Promise<Result>,
  ...[parameters, options = {}]: [...parameters: Given, options?: ChildOptions]
): Child<Result> {
  return childOf(flow as Flow<object, Result>, (parameters ?? {}) as Record<string, unknown>, options as ChildOptions);
}

/**
 * Runs a flow once for each of these parameters; resolves to the results in the order of the parameters. `concurrency` bounds
 * the children. With `settle: true` every child is awaited, and the results are those of `Promise.allSettled`; by default the
 * first failure rejects.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { childMap, flow, Type } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const load = flow("load", { parameters: Type.Object({ region: Type.String() }) }, async ({ region }) => `${region} loaded`);
 * const loadAll = flow("load-all", { durable: true }, async () => {
 *   return await childMap(load, [{ region: "eu" }, { region: "us" }], { concurrency: 1 });
 * });
 *
 * const { result } = await runFlow(loadAll);
 * assert.deepEqual(result, ["eu loaded", "us loaded"]);
 * ```
 */
export async function childMap<Given extends [parameters?: object], Result, Settle extends boolean = false>(
  flow: (...parameters: Given) => Promise<Result>,
  items: readonly NonNullable<Given[0]>[],
  options: Omit<ChildOptions, "key"> & { concurrency?: number; settle?: Settle } = {},
): Promise<(Settle extends true ? PromiseSettledResult<Result> : Result)[]> {
  const { concurrency = Number.MAX_SAFE_INTEGER, settle, ...childOptions } = options;
  if (!(Number.isInteger(concurrency) && concurrency >= 1))
    throw new RangeError(`concurrency is a whole number from 1 up, not ${concurrency}`);
  const gate = new Gate(concurrency);
  const one = async (parameters: object) => {
    await gate.enter();
    try {
      return await childOf(flow as Flow<object, Result>, parameters as Record<string, unknown>, childOptions).run();
    } finally {
      gate.leave();
    }
  };
  const children = items.map(one);
  return (await (settle === true ? Promise.allSettled(children) : Promise.all(children))) as never;
}

function childOf<Result>(
  flow: Flow<object, Result>,
  parameters: Record<string, unknown>,
  { key, hold, delay, tags, priority, onParentEnd }: ChildOptions,
): Child<Result> {
  const definition = definitionOf(flow);
  if (definition === undefined) throw new TypeError("child() takes what flow() returned");
  const delaySeconds = delay === undefined ? {} : { delay: parseDuration(delay) };
  const start = async (): Promise<ChildRun<Result>> => {
    const call = waitCall(`child("${definition.name}")`);
    if (call === null) return await never();
    const { run, durable, caller } = call;
    const path = `${definition.project ?? run.project}/${definition.name}`;
    // By its arguments before they are converted; the request needs no second check.
    const identity = waitIdentity(caller, "child", key, [path, parameters]);
    await definition.checker.prepare(parameters);
    const spec = {
      ...identity,
      kind: "child" as const,
      name: key === undefined ? `run of ${path}` : `run of ${path}: ${key}`,
      flow: path,
      parameters,
      ...delaySeconds,
      ...(tags === undefined ? {} : { tags: [...tags] }),
      ...(priority === undefined ? {} : { priority }),
      ...(onParentEnd === undefined ? {} : { on_parent_end: onParentEnd }),
    };
    const wait = await durable.arm(spec, flow);
    const id = wait.child_run_id ?? 0;
    return { id, result: async () => resultOf<Result>(path, await outcomeOf(durable, wait, hold)) };
  };
  return { start, run: async () => await (await start()).result() };
}

function outcomeOf(durable: DurableRun, wait: Parameters<DurableRun["outcome"]>[0], hold: boolean | undefined) {
  return durable.outcome(wait, hold);
}

function resultOf<Result>(flow: string, outcome: WaitOutcome): Result {
  if (outcome.kind === "gone") throw new ChildFailed(flow, outcome.run_id, "Deleted", outcome.reason);
  if (outcome.kind !== "child") throw new Error(`the wait for a run of ${flow} ended as ${outcome.kind}`);
  const { run_id, state, result, result_bytes, result_lost } = outcome;
  if (state.type !== "Completed") throw new ChildFailed(flow, run_id, state.name, state.message ?? null);
  if (result_bytes !== undefined)
    throw new Error(`run ${run_id} of ${flow} has a result of ${result_bytes} bytes, more than is stored`);
  if (result_lost !== undefined) throw new Error(`the result of run ${run_id} of ${flow} is not kept: ${result_lost}`);
  return result as Result;
}

import { uuidv7 } from "uuidv7";
import type { State, StateType } from "#protocol/records/state";
import { parseDuration } from "../define/duration.ts";
import { callStateHook, hookFor } from "../define/hooks.ts";
import { retryDelayOf } from "../define/retry.ts";
import type { Target } from "../define/target.ts";
import type { TaskOptions } from "../define/task.ts";
import type { DurableRun } from "../durable/durable-run.ts";
import { callerOf, keyedCall, numberedCall } from "../durable/identity.ts";
import { type StepCall, StepChangedError, type StorableResult, type StoredOutcome } from "../durable/stored-steps.ts";
import { type HeldResources, holdResources, logWait, type ResourceWait } from "../run/lease.ts";
import { follow, untilAborted } from "./abortable.ts";
import { type ActiveRun, callInScope, Gate, type Scope } from "./active-run.ts";
import { parentsOf, rememberOrigin, resolveArguments } from "./arguments.ts";
import { logFailedAttempt } from "./attempt-log.ts";
import { describeFailure, isPaused, readableError, TimedOut } from "./failure.ts";
import { readResult, writeResult } from "./result-cache.ts";
import { writeLog } from "./run-log.ts";
import { TaskRun } from "./task-run.ts";

/** A declared task with checked options. */
export interface TaskDefinition {
  name: string;
  options: TaskOptions<never[]>;
  timeoutSeconds: number | null;
  /** Takes the place of the number in the dynamic key. */
  label?: string;
  /** The declared task, whose concurrency also bounds the calls with other options. */
  declared?: TaskDefinition;
  fn: (...args: unknown[]) => unknown;
}

/** Creates a task run of the current run and starts it, at once unless it has to wait for its arguments or for a slot. */
export function startTaskRun(scope: Scope, definition: TaskDefinition, args: readonly unknown[], bound?: Gate): TaskRun<unknown> {
  const { run } = scope;
  const { name } = definition;
  const execution = new TaskExecution(scope, definition, uuidv7(), run.dynamicKeys.next(name, definition.label), bound);
  const { id, dynamicKey, controller } = execution;
  // A step that may be stored is created once it is known not to be.
  if (run.durable === null || run.durable.steps.isEmpty) execution.create(args);
  const taskRun = new TaskRun(id, name, dynamicKey, controller, execution.execute(args));
  if (run.durable !== null) {
    execution.adopted = (origin) => {
      taskRun.adopt(origin);
      rememberOrigin(taskRun, [origin]);
    };
  }
  rememberOrigin(taskRun, [id]);
  run.taskRuns.add(taskRun);
  return taskRun;
}

/** An argument was the promise of a failed task run. */
class UpstreamFailed extends Error {}

/** The call has failed earlier in this attempt, before the run left its engine or crashed. */
class ReplayedFailure extends Error {
  readonly isOwn: boolean;

  constructor(isOwn: boolean, options: ErrorOptions) {
    super("the step has failed before", options);
    this.isOwn = isOwn;
  }
}

interface BegunStep {
  call: StepCall;
  /** A later call of the same key may begin. */
  ended(): void;
}

class TaskExecution {
  readonly id: string;
  readonly dynamicKey: string;
  /** Called with the id of the task run that did the work of a stored step. */
  adopted: (origin: string) => void = () => undefined;
  /** Aborted when the task run or its run is cancelled. */
  readonly controller = new AbortController();
  readonly #run: ActiveRun;
  /** The signal of the code that called the task: of the run, or of the task run around it. */
  readonly #callerSignal: AbortSignal;
  readonly #definition: TaskDefinition;
  readonly #gates: Gate[];
  readonly #scope: Scope;
  #created = false;
  /** In a durable run: the step that this call is, unless its target takes the place of a step. */
  #step: BegunStep | null = null;
  #committed: Promise<void> | null = null;
  /** The task run that did the work. */
  #origin: string;
  /** Begin and end of each attempt; the end of the latest is null until another attempt follows. */
  readonly #times: [fromUs: number, toUs: number | null][] = [];

  constructor(scope: Scope, definition: TaskDefinition, id: string, dynamicKey: string, bound: Gate | undefined) {
    const { run, task } = scope;
    this.#scope = scope;
    this.#run = run;
    this.#callerSignal = task?.signal ?? run.controller.signal;
    this.#definition = definition;
    this.id = id;
    this.#origin = id;
    this.dynamicKey = dynamicKey;
    this.#gates = [gateOf(run, definition), bound].filter((gate) => gate !== undefined);
  }

  /** Reports the task run, Pending. */
  create(args: readonly unknown[]): void {
    const { name } = this.#definition;
    this.#created = true;
    const { run, task } = this.#scope;
    if (run.ended) return;
    if (task !== null && run.trace?.isSampled) run.trace.note({ kind: "call", task: this.id, caller: task.externalId });
    run.report({
      kind: "task_run_created",
      external_id: this.id,
      name,
      task_key: name,
      dynamic_key: this.dynamicKey,
      parents: parentsOf(args),
    });
    this.move("Pending");
  }

  move(type: StateType, name: string = type, message: string | null = null, more: Record<string, unknown> = {}): State {
    const again = this.#times[0] !== undefined && this.#times[0][1] !== null;
    const details = again ? { ...more, attempts: structuredClone(this.#times) } : more;
    const state: State = { type, name, timestamp: this.#run.clock.nowUs(), message, details };
    if (!this.#run.ended) this.#run.report({ kind: "task_run_transition", external_id: this.id, state, force: false });
    return state;
  }

  async execute(args: readonly unknown[]): Promise<unknown> {
    const unfollow = follow(this.controller, this.#callerSignal);
    const leave = this.#run.durable?.enter();
    try {
      const value = await this.#finish(args);
      if (this.#committed !== null) await untilAborted(this.#run.controller.signal, this.#committed);
      rememberOrigin(value, [this.#origin]);
      return value;
    } catch (error) {
      // After the Completed state only the commit of the result can fail.
      throw this.#committed === null ? await this.#fail(error, args) : error;
    } finally {
      this.#step?.ended();
      leave?.();
      unfollow();
    }
  }

  /** From waiting for the arguments to the result, with the Completed state. */
  async #finish(args: readonly unknown[]): Promise<unknown> {
    this.controller.signal.throwIfAborted();
    const resolved = resolveArguments(args);
    const values =
      resolved instanceof Promise ? await untilAborted(this.controller.signal, resolved.catch(asUpstreamFailed)) : resolved;
    const { durable } = this.#run;
    if (durable !== null) {
      const stored = await this.#findStep(durable, values);
      if (stored !== null) return this.#replay(stored, args);
      if (!this.#created) this.create(args);
    }
    const target = this.#targetFor(values);
    if (target !== null && (await target.exists())) {
      this.move("Completed", "Skipped", "its output exists");
      return target;
    }
    const key = this.#cacheKey(values);
    const cached =
      key === null ? undefined : await readResult(this.#run.home, this.#definition.name, key, this.#run.clock.nowUs());
    if (cached !== undefined) {
      const result = await this.#storable(cached.value);
      this.move("Completed", "Cached", `cache key ${key}`);
      this.#commit(result);
      return cached.value;
    }
    const value = await this.#attempts(values);
    if (key !== null) await this.#writeCache(key, value);
    const result = this.#step === null ? null : await this.#storable(value);
    const state = this.move("Completed");
    this.#commit(result);
    await this.#callStateHook(state);
    return target ?? value;
  }

  /** How this call ended earlier, in a durable run; null if it is to be made. */
  async #findStep(durable: DurableRun, values: readonly unknown[]): Promise<StoredOutcome | null> {
    const { name, options } = this.#definition;
    // The target of a task lasts as a stored result does.
    if (options.output !== undefined) return null;
    const key = typeof options.key === "function" ? options.key(...(values as never[])) : options.key;
    const caller = this.#scope.caller ?? durable.root;
    const identity = key === undefined ? numberedCall(caller, name, values, `task "${name}"`) : keyedCall(caller, name, key);
    const call = { ...identity, name, onChange: options.onChange ?? "run" };
    this.#step = { call, ended: await durable.steps.begin(call) };
    return await durable.steps.find(call);
  }

  /** The stored outcome. The task run of the same run is its record; in a later run of the lineage the record is Cached. */
  #replay(stored: StoredOutcome, args: readonly unknown[]): unknown {
    const { taskRun, runId } = stored;
    const isOwn = runId === this.#run.id && !this.#created;
    if (isOwn && taskRun !== null) {
      this.adopted(taskRun);
      this.#origin = taskRun;
    }
    if ("thrown" in stored) throw new ReplayedFailure(isOwn, { cause: stored.thrown });
    if (isOwn) return stored.value;
    if (!this.#created) this.create(args);
    this.move("Completed", "Cached", `done in run ${runId}`, { step: { run_id: runId, task_run: taskRun } });
    return stored.value;
  }

  async #storable(value: unknown): Promise<StorableResult | null> {
    return this.#step === null || this.#run.durable === null ? null : await this.#run.durable.steps.prepare(value);
  }

  /** Reports the result as that of a step, in the report of the Completed state. */
  #commit(result: StorableResult | null): void {
    if (result === null || this.#step === null || this.#run.durable === null || this.#run.ended) return;
    this.#committed = this.#run.durable.steps.commit(this.#step.call, this.id, result);
    this.#committed.catch(() => undefined);
  }

  /** Records the failed, cancelled or paused end of the task run; returns the rejection of its promise. */
  async #fail(error: unknown, args: readonly unknown[]): Promise<unknown> {
    if (error instanceof ReplayedFailure && error.isOwn) return error.cause;
    if (!this.#created) this.create(args);
    const { signal } = this.controller;
    if (signal.aborted) {
      const reason = signal.reason as unknown;
      const state = this.move("Cancelled", "Cancelled", reason instanceof Error ? reason.message : String(reason));
      // A task run ended by a pause is called again with the answer, so its hook is not called.
      if (!isPaused(reason)) await this.#callStateHook(state);
      return reason;
    }
    const upstream = error instanceof UpstreamFailed;
    const replayed = error instanceof ReplayedFailure;
    const thrown = upstream || replayed ? error.cause : error;
    const failure = describeFailure(thrown);
    const { message, exception, traceback } = failure;
    if (this.#times.length > 0) {
      logFailedAttempt(this.#run, this.id, this.#definition.options, this.#times.length, null, failure);
    }
    const name = thrown instanceof TimedOut && !upstream ? "TimedOut" : "Failed";
    const text = upstream ? `upstream task failed: ${message}` : name === "TimedOut" ? (thrown as TimedOut).message : message;
    const state = this.move("Failed", name, text, { exception, traceback });
    if (replayed) return thrown;
    await this.#commitFailure(thrown);
    await this.#callStateHook(state);
    return thrown;
  }

  async #commitFailure(thrown: unknown): Promise<void> {
    const [step, { durable, controller, ended }] = [this.#step, this.#run];
    if (step === null || durable === null || ended || thrown instanceof StepChangedError) return;
    await untilAborted(controller.signal, durable.steps.commitFailure(step.call, this.id, thrown)).catch(() => undefined);
  }

  async #attempts(values: readonly unknown[]): Promise<unknown> {
    const { signal } = this.controller;
    const { resources } = this.#definition.options;
    for (let attempt = 1; ; attempt += 1) {
      const entered: Gate[] = [];
      let held: HeldResources | null = null;
      let delay: number | null;
      let times: [number, number | null] | null = null;
      try {
        for (const gate of this.#gates) {
          await enter(gate, signal);
          entered.push(gate);
        }
        if (resources !== undefined) held = await this.#hold(resources);
        signal.throwIfAborted();
        times = [this.#run.clock.nowUs(), null];
        this.#times.push(times);
        this.move("Running", attempt === 1 ? "Running" : "Retrying");
        return await this.#attempt(values);
      } catch (thrown) {
        const error = readableError(thrown);
        delay = signal.aborted ? null : retryDelayOf(this.#definition.options, attempt, error);
        if (delay === null) throw error;
        if (times !== null) times[1] = this.#run.clock.nowUs();
        const failure = describeFailure(error);
        const { message, exception, traceback } = failure;
        const retries = this.#definition.options.retries ?? 0;
        logFailedAttempt(this.#run, this.id, this.#definition.options, attempt, delay, failure);
        this.move("Scheduled", "AwaitingRetry", message, { attempt, delay, retries, exception, traceback });
      } finally {
        held?.release();
        for (const gate of entered) gate.leave();
      }
      await this.#run.clock.sleep(delay * 1000, signal);
    }
  }

  /** Waits for the task's resources, as AwaitingResource. */
  async #hold(resources: Record<string, number>): Promise<HeldResources> {
    const waits = (wait: ResourceWait) => {
      this.move("Scheduled", "AwaitingResource", `waiting for ${wait.waiting}`, { resource: wait.waiting });
      if (wait.unreachable === true) logWait(this.#run, this.id, wait);
    };
    return await holdResources(this.#run, resources, this.controller.signal, waits);
  }

  /** Calls the function once, with its own signal and time limit. */
  async #attempt(values: readonly unknown[]): Promise<unknown> {
    const { timeoutSeconds, name, fn } = this.#definition;
    const controller = new AbortController();
    const unfollow = follow(controller, this.controller.signal);
    const disarm =
      timeoutSeconds === null
        ? undefined
        : this.#run.clock.after(timeoutSeconds * 1000, () => controller.abort(new TimedOut(timeoutSeconds)));
    const task = { externalId: this.id, name, dynamicKey: this.dynamicKey, signal: controller.signal };
    const caller = this.#step === null ? {} : { caller: callerOf(this.#step.call) };
    const body = callInScope({ run: this.#run, task, ...caller }, () => fn(...values));
    trackBody(this.#run, body);
    try {
      return await untilAborted(controller.signal, body);
    } finally {
      disarm?.();
      unfollow();
    }
  }

  #targetFor(values: readonly unknown[]): Target | null {
    const { output } = this.#definition.options;
    if (output === undefined) return null;
    return typeof output === "function" ? output(...(values as never[])) : output;
  }

  #cacheKey(values: readonly unknown[]): string | null {
    const { cache } = this.#definition.options;
    if (cache === undefined) return null;
    return typeof cache.key === "function" ? cache.key(...(values as never[])) : cache.key;
  }

  async #writeCache(key: string, value: unknown): Promise<void> {
    const { name, options } = this.#definition;
    const nowUs = this.#run.clock.nowUs();
    const expires = options.cache?.expires;
    const expiresUs = expires === undefined ? null : nowUs + parseDuration(expires) * 1_000_000;
    try {
      await writeResult(this.#run.home, name, key, value, nowUs, expiresUs);
    } catch (error) {
      writeLog(this.#run, this.id, 30, "millrace.run", `the result could not be cached: ${describeFailure(error).message}`);
    }
  }

  async #callStateHook(state: State): Promise<void> {
    const hook = hookFor(this.#definition.options.hooks, state.type);
    if (hook === undefined) return;
    await callStateHook(hook, this.#run, { id: this.id, name: this.#definition.name, dynamicKey: this.dynamicKey }, state);
  }
}

/** Keeps a call of a user function in the run's list until it returns. */
export function trackBody(run: ActiveRun, body: Promise<unknown>): void {
  const forget = () => {
    run.bodies.delete(settled);
  };
  const settled: Promise<void> = body.then(forget, forget);
  run.bodies.add(settled);
}

function gateOf(run: ActiveRun, definition: TaskDefinition): Gate | undefined {
  const declared = definition.declared ?? definition;
  const places = declared.options.concurrency;
  if (places === undefined) return undefined;
  const gate = run.gates.get(declared) ?? new Gate(places);
  run.gates.set(declared, gate);
  return gate;
}

/** Waits for a slot; if the wait is aborted, the slot is passed on as soon as it is assigned. */
async function enter(gate: Gate, signal: AbortSignal): Promise<void> {
  const waiting = gate.enter();
  if (waiting === null) return;
  try {
    await untilAborted(signal, waiting);
  } catch (error) {
    void waiting.then(() => gate.leave());
    throw error;
  }
}

function asUpstreamFailed(error: unknown): never {
  throw new UpstreamFailed("upstream task failed", { cause: error });
}

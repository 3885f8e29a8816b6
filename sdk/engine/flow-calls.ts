/** The user thread's side of runs: finds the flows of the module and calls them. */
import type { State } from "#protocol/records/state";
import { readTraceparent } from "#protocol/values/traceparent";
import type { Millrace } from "../client/index.ts";
import { hookFor } from "../define/hooks.ts";
import { beginDurable } from "../durable/begin-durable.ts";
import type { ChildrenHere } from "../durable/durable-services.ts";
import { type ActiveRun, abortRun, newActiveRun } from "../execution/active-run.ts";
import { type AttemptOutcome, runAttempt, runFlowHook } from "../execution/attempt.ts";
import { systemClock } from "../execution/clock.ts";
import { DynamicKeys } from "../execution/dynamic-keys.ts";
import { Cancelled, describeFailure, TimedOut } from "../execution/failure.ts";
import { ServerRunServices } from "../execution/run-services.ts";
import type { LoadedFlow } from "../modules/load-module.ts";
import type { Propagation } from "../tracing/propagation.ts";
import type { CodeTrace } from "../tracing/trace-note.ts";
import { ItemBatch } from "./item-batch.ts";
import { RunMap } from "./run-map.ts";
import type { FlowFacts, RunFacts, RunNews, RunOrder } from "./user-thread-api.ts";

export interface FlowCallsOptions {
  /** Path of the module, for messages. */
  module: string;
  home: string;
  /** Where this process executes the children of its runs. */
  children?: ChildrenHere;
  /** Loads what passes traces on, once for a thread. */
  propagation: () => Promise<Propagation>;
  /** The client for requests of runs to their server. */
  connect: () => Promise<Millrace>;
  /** Receives news of runs. */
  post: (news: RunNews[]) => void;
  /** Answers the order `turn`, where a control thread gives it. */
  turned?: () => void;
}

/** A run whose code executes here. */
interface Call {
  active: ActiveRun;
  /** Ends the attempt although its code goes on. */
  abandon: () => void;
}

/** Calls the flows of a module for their runs, any number at a time, in the current thread. */
export class FlowCalls {
  readonly flows: readonly LoadedFlow[];
  readonly #options: FlowCallsOptions;
  readonly #batch: ItemBatch;
  readonly #calls = new RunMap<Call>();
  /**
   * The numbering of dynamic keys continues over the attempts of a run, because a key names one task run of the run. Kept from
   * an attempt that is to be retried until the next one.
   */
  readonly #dynamicKeys = new Map<number, DynamicKeys>();

  constructor(flows: readonly LoadedFlow[], options: FlowCallsOptions) {
    this.flows = flows;
    this.#options = options;
    this.#batch = new ItemBatch(options.post, () => this.#calls.size);
  }

  /** Carries out orders; the answers are posted. */
  take(orders: readonly RunOrder[]): void {
    for (const order of orders) {
      if (order.kind === "execute") void this.#execute(order.run, order.attempt);
      else if (order.kind === "hook") void this.#hook(order.run, order.state);
      else if (order.kind === "stop") this.#stop(order.run, order.seconds);
      else if (order.kind === "stored") this.#calls.get(order.run)?.active.durable?.settled(order.steps);
      else if (order.kind === "turn") setImmediate(() => this.#options.turned?.());
      else this.#calls.get(order.run)?.abandon();
    }
  }

  async bulkComplete(flow: Pick<RunFacts, "project" | "flow">, values: string[]): Promise<string[]> {
    const done = await this.#find(flow).definition.options.bulkComplete?.(values);
    return (done ?? []).map(String);
  }

  facts(): FlowFacts[] {
    return this.flows.map(factsOf);
  }

  /** Posts everything collected so far, also lines without an end. */
  flush(): void {
    for (const { active } of this.#calls.values()) active.printed.flush();
    this.#batch.flush();
  }

  /** Calls a flow once, and posts the outcome after all report items of the attempt. */
  async #execute(run: RunFacts, attempt: number): Promise<void> {
    const dynamicKeys = attempt === 1 ? undefined : this.#dynamicKeys.get(run.id);
    this.#dynamicKeys.delete(run.id);
    const outcome = await this.#outcomeOf(run, attempt, dynamicKeys ?? new DynamicKeys());
    this.#batch.addNews({ run: run.id, outcome });
  }

  async #outcomeOf(run: RunFacts, attempt: number, dynamicKeys: DynamicKeys): Promise<AttemptOutcome> {
    try {
      const { definition } = this.#find(run);
      const active = this.#activate(run, attempt, dynamicKeys);
      if (run.traceparent !== undefined) active.trace = await this.#traceOf(run.id, run.traceparent);
      const outcome = await this.#call<AttemptOutcome>(active, runAttempt(definition, active), {
        kind: "stopped",
        lingering: true,
      });
      if (outcome.kind === "failed" && outcome.retryDelaySeconds !== null) this.#dynamicKeys.set(run.id, dynamicKeys);
      return outcome;
    } catch (error) {
      return { kind: "failed", failure: describeFailure(error), retryDelaySeconds: null, lingering: false };
    }
  }

  async #hook(run: RunFacts, state: State): Promise<void> {
    let error: string | null = null;
    try {
      const { definition } = this.#find(run);
      // A hook is called once, and its tasks are no steps.
      const { durable: _steps, ...facts } = run;
      const active = this.#activate(facts, 1, new DynamicKeys());
      const called = runFlowHook(definition, active, state).then(() => null);
      error = await this.#call(active, called, "the hook has not returned");
    } catch (thrown) {
      error = describeFailure(thrown).message;
    }
    this.#batch.addNews({ run: run.id, hook: { error } });
  }

  /** The outcome of code, or `given` when the code is abandoned. What the code does after that is not recorded. */
  async #call<T>(active: ActiveRun, outcome: Promise<T>, given: T): Promise<T> {
    const abandoned = Promise.withResolvers<T>();
    this.#calls.set(active.id, { active, abandon: () => abandoned.resolve(given) });
    try {
      return await Promise.race([outcome, abandoned.promise]);
    } finally {
      active.printed.flush();
      active.ended = true;
      this.#calls.delete(active.id);
    }
  }

  async #traceOf(run: number, header: string): Promise<CodeTrace> {
    const { within } = await this.#options.propagation();
    const isSampled = readTraceparent(header)?.sampled === true;
    return { header, isSampled, within, note: (note) => this.#batch.addNews({ run, note }) };
  }

  #stop(run: number, seconds: number | null): void {
    const reason = seconds === null ? new Cancelled("cancelled") : new TimedOut(seconds);
    const call = this.#calls.get(run);
    if (call !== undefined) abortRun(call.active, reason);
    // A run that waits for its next attempt has none.
    this.#dynamicKeys.delete(run);
  }

  #find({ project, flow }: Pick<RunFacts, "project" | "flow">): LoadedFlow {
    const named = this.flows.filter(({ definition }) => definition.name === flow);
    const found = named.find(({ registration }) => registration.project === project) ?? named[0];
    if (found === undefined) throw new Error(`flow ${project}/${flow} is not defined in module ${this.#options.module}`);
    return found;
  }

  #activate({ durable, ...run }: RunFacts, attempt: number, dynamicKeys: DynamicKeys): ActiveRun {
    const { home, connect, children } = this.#options;
    const active: ActiveRun = newActiveRun({
      ...run,
      attempt,
      clock: systemClock,
      home,
      logPrints: this.#find(run).definition.wire.log_prints,
      report: (item) => {
        if (!active.ended) this.#batch.add(run.id, item);
      },
      servicesFor: (signal) => new ServerRunServices(connect, home, run.id, signal, children),
      dynamicKeys,
    });
    if (durable !== undefined) beginDurable(active, durable);
    return active;
  }
}

function factsOf({ definition, registration }: LoadedFlow): FlowFacts {
  const { timeout_seconds, retries } = registration.options;
  const hooks = (["Completed", "Failed", "Cancelled", "Crashed"] as const).filter(
    (type) => hookFor(definition.options.hooks, type) !== undefined,
  );
  return { project: registration.project, name: definition.name, timeoutSeconds: timeout_seconds, retries, hooks };
}

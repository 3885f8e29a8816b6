/** The user thread's side of runs: finds the flows of the module and calls them. */
import type { State } from "#protocol/records/state";
import type { Millrace } from "../client/index.ts";
import { hookFor } from "../define/hooks.ts";
import { type ActiveRun, newActiveRun } from "../execution/active-run.ts";
import { type AttemptOutcome, runAttempt, runFlowHook } from "../execution/attempt.ts";
import { systemClock } from "../execution/clock.ts";
import { Cancelled, describeFailure, TimedOut } from "../execution/failure.ts";
import { ServerRunServices } from "../execution/run-services.ts";
import type { LoadedFlow } from "../modules/load-module.ts";
import { ItemBatch } from "./item-batch.ts";
import type { FlowFacts, RunFacts, RunNews, RunOrder } from "./user-thread-api.ts";

export interface FlowCallsOptions {
  /** Path of the module, for messages. */
  module: string;
  home: string;
  /** The client for requests of runs to their server. */
  connect: () => Promise<Millrace>;
  /** Receives news of runs. */
  post: (news: RunNews[]) => void;
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
  readonly #calls = new Map<number, Call>();
  /**
   * The counters of dynamic keys continue over the attempts of a run, because a key names one task run of the run. Kept from
   * an attempt that is to be retried until the next one.
   */
  readonly #counters = new Map<number, Map<string, number>>();

  constructor(flows: readonly LoadedFlow[], options: FlowCallsOptions) {
    this.flows = flows;
    this.#options = options;
    this.#batch = new ItemBatch(options.post);
  }

  /** Carries out orders; the answers are posted. */
  take(orders: readonly RunOrder[]): void {
    for (const order of orders) {
      if (order.kind === "execute") void this.#execute(order.run, order.attempt);
      else if (order.kind === "hook") void this.#hook(order.run, order.state);
      else if (order.kind === "stop") this.#stop(order.run, order.seconds);
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
    const counters = attempt === 1 ? undefined : this.#counters.get(run.id);
    this.#counters.delete(run.id);
    const active = this.#activate(run, attempt, counters ?? new Map());
    const { promise: abandoned, resolve: abandon } = Promise.withResolvers<AttemptOutcome>();
    this.#calls.set(run.id, { active, abandon: () => abandon({ kind: "stopped", lingering: true }) });
    const outcome = await Promise.race([runAttempt(this.#find(run).definition, active), abandoned]);
    active.printed.flush();
    active.ended = true;
    this.#calls.delete(run.id);
    if (outcome.kind === "failed" && outcome.retryDelaySeconds !== null) this.#counters.set(run.id, active.counters);
    this.#batch.end({ run: run.id, outcome });
  }

  async #hook(run: RunFacts, state: State): Promise<void> {
    let error: string | null = null;
    try {
      await runFlowHook(this.#find(run).definition, this.#activate(run, 1, new Map()), state);
    } catch (thrown) {
      error = describeFailure(thrown).message;
    }
    this.#batch.end({ run: run.id, hook: { error } });
  }

  #stop(run: number, seconds: number | null): void {
    const reason = seconds === null ? new Cancelled("cancelled") : new TimedOut(seconds);
    this.#calls.get(run)?.active.controller.abort(reason);
  }

  #find({ project, flow }: Pick<RunFacts, "project" | "flow">): LoadedFlow {
    const named = this.flows.filter(({ definition }) => definition.name === flow);
    const found = named.find(({ registration }) => registration.project === project) ?? named[0];
    if (found === undefined) throw new Error(`flow ${project}/${flow} is not defined in module ${this.#options.module}`);
    return found;
  }

  #activate(run: RunFacts, attempt: number, counters: Map<string, number>): ActiveRun {
    const { home, connect } = this.#options;
    return newActiveRun({
      ...run,
      attempt,
      clock: systemClock,
      home,
      logPrints: this.#find(run).definition.wire.log_prints,
      report: (item) => this.#batch.add(run.id, item),
      servicesFor: (signal) => new ServerRunServices(connect, home, run.id, signal),
      counters,
    });
  }
}

function factsOf({ definition, registration }: LoadedFlow): FlowFacts {
  const { timeout_seconds, retries } = registration.options;
  const hooks = (["Completed", "Failed", "Cancelled", "Crashed"] as const).filter(
    (type) => hookFor(definition.options.hooks, type) !== undefined,
  );
  return { project: registration.project, name: definition.name, timeoutSeconds: timeout_seconds, retries, hooks };
}

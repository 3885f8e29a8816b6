/** The user thread's side of a run: finds the flows of the module and calls them. */
import type { State } from "#protocol/records/state";
import type { Millrace } from "../client/index.ts";
import { hookFor } from "../define/hooks.ts";
import { type ActiveRun, newActiveRun } from "../execution/active-run.ts";
import { type AttemptOutcome, runAttempt, runFlowHook } from "../execution/attempt.ts";
import { systemClock } from "../execution/clock.ts";
import { Cancelled, TimedOut } from "../execution/failure.ts";
import type { ReportItem } from "../execution/report-item.ts";
import { ServerRunServices } from "../execution/run-services.ts";
import type { LoadedFlow } from "../modules/load-module.ts";
import { ItemBatch } from "./item-batch.ts";
import type { FlowFacts, RunFacts } from "./user-thread-api.ts";

export interface FlowCallsOptions {
  /** Path of the module, for messages. */
  module: string;
  home: string;
  /** The client for requests of runs to their server. */
  connect: () => Promise<Millrace>;
  /** Receives the report items of a run. */
  post: (items: ReportItem[]) => void;
}

/** Calls the flows of a module for their runs, one at a time, in the current thread. */
export class FlowCalls {
  readonly flows: readonly LoadedFlow[];
  readonly #options: FlowCallsOptions;
  readonly #batch: ItemBatch;
  #current: ActiveRun | null = null;
  /** The counters of dynamic keys continue over the attempts of a run, because a key names one task run of the run. */
  #counters = new Map<string, number>();

  constructor(flows: readonly LoadedFlow[], options: FlowCallsOptions) {
    this.flows = flows;
    this.#options = options;
    this.#batch = new ItemBatch(options.post);
  }

  /** Calls a flow once. All report items of the attempt are posted before the answer. */
  async execute(run: RunFacts, attempt: number): Promise<AttemptOutcome> {
    if (attempt === 1) this.#counters = new Map();
    const active = this.#activate(run, attempt);
    this.#current = active;
    const outcome = await runAttempt(this.#find(run).definition, active);
    this.#current = null;
    this.#batch.flush();
    return outcome;
  }

  /** Aborts the signal of the current run. `seconds` is the exceeded time limit, null for a cancel. */
  stop(seconds: number | null): void {
    this.#current?.controller.abort(seconds === null ? new Cancelled("cancelled") : new TimedOut(seconds));
  }

  /** The current run is over although its code continues: later actions of that code are not recorded. */
  abandon(): void {
    this.flush();
    if (this.#current !== null) this.#current.ended = true;
  }

  async hook(run: RunFacts, state: State): Promise<void> {
    await runFlowHook(this.#find(run).definition, this.#activate(run, 1), state);
    this.#batch.flush();
  }

  async bulkComplete(flow: Pick<RunFacts, "project" | "flow">, values: string[]): Promise<string[]> {
    const done = await this.#find(flow).definition.options.bulkComplete?.(values);
    return (done ?? []).map(String);
  }

  facts(): FlowFacts[] {
    return this.flows.map(factsOf);
  }

  flush(): void {
    this.#current?.printed.flush();
    this.#batch.flush();
  }

  #find({ project, flow }: Pick<RunFacts, "project" | "flow">): LoadedFlow {
    const named = this.flows.filter(({ definition }) => definition.name === flow);
    const found = named.find(({ registration }) => registration.project === project) ?? named[0];
    if (found === undefined) throw new Error(`flow ${project}/${flow} is not defined in module ${this.#options.module}`);
    return found;
  }

  #activate(run: RunFacts, attempt: number): ActiveRun {
    const { home, connect } = this.#options;
    return newActiveRun({
      ...run,
      attempt,
      clock: systemClock,
      home,
      logPrints: this.#find(run).definition.wire.log_prints,
      report: (item) => this.#batch.add(item),
      servicesFor: (signal) => new ServerRunServices(connect, home, run.id, signal),
      counters: this.#counters,
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

/**
 * Entry of the user thread: imports one module and calls its flows, one at a time, as the control thread asks.
 */
import { parentPort, workerData } from "node:worker_threads";
import { expose } from "comlink";
import nodeEndpoint from "comlink/dist/esm/node-adapter.mjs";
import type { State } from "#protocol/state";
import { type ActiveRun, newActiveRun } from "../active-run.ts";
import { type AttemptOutcome, runAttempt, runFlowHook } from "../attempt.ts";
import type { Millrace } from "../client/index.ts";
import { systemClock } from "../clock.ts";
import { captureConsole } from "../console-capture.ts";
import { Cancelled, TimedOut } from "../failure.ts";
import { hookFor } from "../hooks.ts";
import { type LoadedFlow, loadFlows } from "../load-flows.ts";
import { ServerRunServices } from "../run-services.ts";
import { ItemBatch } from "./item-batch.ts";
import type { FlowFacts, LoadAnswer, RunFacts, UserThreadApi, UserThreadData } from "./user-thread-api.ts";

if (parentPort === null) throw new Error("this module runs in a worker thread only");
const port = parentPort;
const { sourceDir, module, home, server } = workerData as UserThreadData;
const batch = new ItemBatch((items) => port.postMessage(items));

let client: Promise<Millrace> | null = null;
let flows: LoadedFlow[] = [];
let current: ActiveRun | null = null;
/** The counters of dynamic keys go on over the attempts of a run, because a key names one task run of the run. */
let counters = new Map<string, number>();

const api: UserThreadApi = {
  async load(): Promise<LoadAnswer> {
    captureConsole();
    const loaded = await loadFlows(sourceDir, module);
    if (loaded.error !== null) return { error: loaded.error, traceback: loaded.traceback };
    flows = loaded.flows;
    for (const { definition } of flows) definition.checker.warm().catch(() => undefined);
    return { flows: flows.map(factsOf) };
  },

  async execute(run: RunFacts, attempt: number): Promise<AttemptOutcome> {
    if (attempt === 1) counters = new Map();
    const active = activate(run, attempt);
    current = active;
    const outcome = await runAttempt(findFlow(run).definition, active);
    current = null;
    batch.flush();
    return outcome;
  },

  stop(seconds: number | null): void {
    current?.controller.abort(seconds === null ? new Cancelled("cancelled") : new TimedOut(seconds));
  },

  async bulkComplete(flow: Pick<RunFacts, "project" | "flow">, values: string[]): Promise<string[]> {
    const done = await findFlow(flow).definition.options.bulkComplete?.(values);
    return (done ?? []).map(String);
  },

  async hook(run: RunFacts, state: State): Promise<void> {
    await runFlowHook(findFlow(run).definition, activate(run, 1), state);
    batch.flush();
  },
};

// What was collected leaves the thread also when user code ends it.
process.on("exit", () => batch.flush());
process.on("uncaughtExceptionMonitor", () => batch.flush());
expose(api, nodeEndpoint(port));

function findFlow({ project, flow }: Pick<RunFacts, "project" | "flow">): LoadedFlow {
  const named = flows.filter(({ definition }) => definition.name === flow);
  const found = named.find(({ registration }) => registration.project === project) ?? named[0];
  if (found === undefined) throw new Error(`flow ${project}/${flow} is not defined in module ${module}`);
  return found;
}

function factsOf({ definition, registration }: LoadedFlow): FlowFacts {
  const { timeout_seconds, retries } = registration.options;
  const hooks = (["Completed", "Failed", "Cancelled", "Crashed"] as const).filter(
    (type) => hookFor(definition.options.hooks, type) !== undefined,
  );
  return { project: registration.project, name: definition.name, timeoutSeconds: timeout_seconds, retries, hooks };
}

function activate(run: RunFacts, attempt: number): ActiveRun {
  return newActiveRun({
    ...run,
    attempt,
    clock: systemClock,
    home,
    logPrints: findFlow(run).definition.wire.log_prints,
    report: (item) => batch.add(item),
    servicesFor: (signal) => new ServerRunServices(connect, home, run.id, signal),
    counters,
  });
}

/** Most runs ask nothing of the server, so the client is loaded by the first that does. */
function connect(): Promise<Millrace> {
  client ??= import("../client/index.ts").then(({ Millrace }) => new Millrace(server));
  return client;
}

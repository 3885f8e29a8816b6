/**
 * The engine inside a script: takes one run from the server of this process and executes it, by the same protocol as engines.
 */
import type { Wait } from "#protocol/records/durable";
import type { WorkItem } from "#protocol/records/engine";
import { hostIdentity } from "#system/host-identity";
import { hasEnded, type Millrace, type Run } from "../client/index.ts";
import { clientHome } from "../client/local-server.ts";
import { definitionOf, type FlowDefinition } from "../define/flow.ts";
import type { ChildrenHere } from "../durable/durable-services.ts";
import { PolledRuns } from "../engine/polled-run.ts";
import { RunControl } from "../engine/run-control.ts";
import { ServerApi } from "../engine/server-api.ts";
import { DEFAULT_TIMES } from "../engine/settings.ts";
import type { Registration } from "../modules/registration.ts";
import { followChildren } from "../output/child-processes.ts";
import { captureConsole } from "../output/console-capture.ts";
import { captureStreams } from "../output/stream-capture.ts";
import type { LocalSend } from "./home-server.ts";
import { LocalChannel } from "./local-channel.ts";
import { RunError } from "./run-error.ts";
import { gauges, ScriptCode } from "./script-code.ts";

export interface RunHere {
  client: Millrace;
  send: LocalSend;
  definition: FlowDefinition;
  /** Where engines would find a flow. */
  registrationOf(definition: FlowDefinition): Registration;
  run: Run;
}

/** Executes the run, with the children that it starts, and returns the function's return value. @throws RunError for every end but Completed */
export async function executeHere(here: RunHere): Promise<unknown> {
  const { client, definition, run } = here;
  captureConsole();
  captureStreams({ alsoPrint: true });
  followChildren({ gauges, capturesOutput: false });
  const last = new LastCall(definition);
  const children = new ChildrenOfScript(here);
  await executeRun(here, last.definition, run.id, children);
  await children.ended();
  const ended = await client.runs.get(run.id);
  if (ended.state.type === "Completed") return last.value;
  throw new RunError(ended, last.error);
}

/** Executes a run to its end; between its parks it waits in line like any other. */
async function executeRun(here: RunHere, definition: FlowDefinition, id: number, children: ChildrenOfScript): Promise<void> {
  const { client, send } = here;
  const registration = here.registrationOf(definition);
  const code = new ScriptCode({ definition, registration }, clientHome(), client, children);
  const identity = {
    engineId: `script-${process.pid}-${id}`,
    sourceDir: registration.source_dir,
    module: registration.module,
    isolated: false,
    nice: 0,
    host: hostIdentity(),
    wanted: id,
  };
  const api = new ServerApi(identity, (timeoutMs) => new LocalChannel(send, timeoutMs));
  for (let item = await takeWork(api, client, id); item !== null; item = await takeWork(api, client, id)) {
    await control(api, code, item);
    // No other process can answer a question while this process holds the home.
    if ((await client.runs.get(id)).state.type === "Paused") return;
  }
}

/** The children that the run and its children start, each executed beside the others. */
class ChildrenOfScript implements ChildrenHere {
  readonly #here: RunHere;
  readonly #runs = new Map<number, Promise<void>>();

  constructor(here: RunHere) {
    this.#here = here;
  }

  registrationOf(flow: object): ReturnType<ChildrenHere["registrationOf"]> {
    const { parameter_schema, options, module, source_dir } = this.#here.registrationOf(definitionFor(flow));
    const registration = { module, source_dir, parameter_schema: { ...parameter_schema }, options };
    // The option types of SDK and protocol describe the same record.
    return registration as ReturnType<ChildrenHere["registrationOf"]>;
  }

  armed(waits: readonly Wait[], flows: ReadonlyMap<string, object>): void {
    for (const { identity, child_run_id: id = null, settled_at } of waits) {
      const flow = flows.get(identity);
      if (flow === undefined || id === null || settled_at != null || this.#runs.has(id)) continue;
      const run = executeRun(this.#here, definitionFor(flow), id, this);
      // Its failure is noticed when the script waits for its children.
      run.catch(() => undefined);
      this.#runs.set(id, run);
    }
  }

  /** Children may start further ones, which a Map's iterator visits too. */
  async ended(): Promise<void> {
    for (const run of this.#runs.values()) await run;
  }
}

function definitionFor(flow: object): FlowDefinition {
  const definition = definitionOf(flow);
  if (definition === undefined) throw new TypeError("child() takes what flow() returned");
  return definition;
}

async function control(api: ServerApi, code: ScriptCode, item: WorkItem): Promise<void> {
  const complain = (text: string): void => void process.stderr.write(`millrace: ${text}\n`);
  const { heartbeatMs, lostMs } = DEFAULT_TIMES;
  const channel = new PolledRuns(api, heartbeatMs, lostMs);
  const running = new RunControl(channel, code, item, { ...DEFAULT_TIMES, complain });
  // The cancel goes to the server first; this only speeds up its arrival here.
  const check = (): void => void setImmediate(() => running.check());
  process.on("SIGINT", check);
  try {
    await running.execute();
  } finally {
    process.off("SIGINT", check);
  }
}

/** Waits in line for the run; null if the run ended without being handed out. */
async function takeWork(api: ServerApi, client: Millrace, id: number): Promise<WorkItem | null> {
  const over = new AbortController();
  const watch = client.waitFor(id, { signal: over.signal }).then(
    () => over.abort(),
    () => undefined,
  );
  try {
    while (!hasEnded(await client.runs.get(id))) {
      const answer = await api.work(over.signal).catch((error: unknown) => {
        if (over.signal.aborted) return null;
        throw error;
      });
      if (answer?.run != null) return answer.run;
    }
    return null;
  } finally {
    over.abort();
    await watch;
  }
}

/** The last value that the function itself returned or threw; the store has it only as JSON and text. */
class LastCall {
  readonly definition: FlowDefinition;
  value: unknown;
  error: unknown;

  constructor(definition: FlowDefinition) {
    const fn: FlowDefinition["fn"] = async (parameters) => {
      this.error = undefined;
      try {
        this.value = await definition.fn(parameters);
        return this.value;
      } catch (error) {
        this.error = error;
        throw error;
      }
    };
    this.definition = { ...definition, fn };
  }
}

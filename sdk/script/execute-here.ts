/**
 * The engine inside a script: takes one run from the server of this process and executes it, by the same protocol as engines.
 */
import type { WorkItem } from "#protocol/records/engine";
import { hostIdentity } from "#system/host-identity";
import { hasEnded, type Millrace, type Run } from "../client/index.ts";
import { clientHome } from "../client/local-server.ts";
import type { FlowDefinition } from "../define/flow.ts";
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
  registration: Registration;
  run: Run;
}

/** Executes the run and returns the function's return value. @throws RunError for every end but Completed */
export async function executeHere({ client, send, definition, registration, run }: RunHere): Promise<unknown> {
  captureConsole();
  captureStreams({ alsoPrint: true });
  followChildren({ gauges, capturesOutput: false });
  const last = new LastCall(definition);
  const code = new ScriptCode({ definition: last.definition, registration }, clientHome(), client);
  const identity = {
    engineId: `script-${process.pid}-${run.id}`,
    sourceDir: registration.source_dir,
    module: registration.module,
    isolated: false,
    nice: 0,
    host: hostIdentity(),
    wanted: run.id,
  };
  const api = new ServerApi(identity, (timeoutMs) => new LocalChannel(send, timeoutMs));
  const item = await takeWork(api, client, run.id);
  if (item !== null) await control(api, code, item);
  const ended = await client.runs.get(run.id);
  if (ended.state.type === "Completed") return last.value;
  throw new RunError(ended, last.error);
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

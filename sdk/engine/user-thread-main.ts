/**
 * Entry of the user thread: imports one module and calls its flows for the runs that the control thread orders.
 */
import { parentPort, workerData } from "node:worker_threads";
import { expose } from "comlink";
import nodeEndpoint from "comlink/dist/esm/node-adapter.mjs";
import type { Millrace } from "../client/index.ts";
import { Gauges } from "../execution/gauges.ts";
import { ImportedFiles } from "../modules/imported-files.ts";
import { type LoadedFlow, loadModule } from "../modules/load-module.ts";
import { keepStrippedTypes } from "../modules/stripped-types.ts";
import { followChildren } from "../output/child-processes.ts";
import { captureConsole } from "../output/console-capture.ts";
import { captureStreams } from "../output/stream-capture.ts";
import type { Propagation } from "../tracing/propagation.ts";
import { FlowCalls } from "./flow-calls.ts";
import { followHeldMemory } from "./held-memory.ts";
import { logCharsOf } from "./item-batch.ts";
import { tellEnd } from "./thread-end.ts";
import {
  type ImportedFile,
  type LoadAnswer,
  type RunOrder,
  TURNED,
  type UserThreadApi,
  type UserThreadData,
} from "./user-thread-api.ts";

if (parentPort === null) throw new Error("this module runs in a worker thread only");
const port = parentPort;
const { sourceDir, module, home, server, traces, gauges: memory } = workerData as UserThreadData;

const gauges = new Gauges(memory);
let client: Promise<Millrace> | null = null;
let propagates: Promise<Propagation> | null = null;
let calls = callsOf([]);

const api: UserThreadApi = {
  async load(): Promise<LoadAnswer> {
    captureConsole();
    captureStreams({ gauges });
    followChildren({ gauges, capturesOutput: true });
    followHeldMemory(gauges);
    // First, so that it is asked last: the others see every file.
    keepStrippedTypes(home);
    new ImportedFiles(sourceDir, (file) => port.postMessage({ imported: file } satisfies ImportedFile));
    if (traces) await propagation();
    const loaded = await loadModule(sourceDir, module);
    if (loaded.error !== null) return { error: loaded.error, traceback: loaded.traceback };
    calls = callsOf(loaded.flows);
    for (const { definition } of loaded.flows) definition.checker.warm().catch(() => undefined);
    return { flows: calls.facts() };
  },
  bulkComplete: (flow, values) => calls.bulkComplete(flow, values),
};

// Orders are arrays; everything else on this port is comlink's.
port.on("message", (message: RunOrder[] | object) => {
  if (Array.isArray(message)) calls.take(message);
});

// Collected items leave the thread even if user code ends it.
tellEnd((ended) => {
  calls.flush();
  port.postMessage(ended);
});
expose(api, nodeEndpoint(port));

function callsOf(flows: readonly LoadedFlow[]): FlowCalls {
  return new FlowCalls(flows, {
    module,
    home,
    propagation,
    connect,
    post: (news) => {
      gauges.addPosted(logCharsOf(news));
      port.postMessage(news);
    },
    turned: () => port.postMessage(TURNED),
  });
}

/** Most runs have no trace, so the first that has one loads this, unless the engine traces runs itself. */
function propagation(): Promise<Propagation> {
  propagates ??= import("../tracing/propagation.ts").then(({ followTraces }) => followTraces(sourceDir, traces));
  return propagates;
}

/** Most runs send no request to the server, so the first run that does loads the client. */
function connect(): Promise<Millrace> {
  client ??= import("../client/index.ts").then(({ Millrace }) => new Millrace(server));
  return client;
}

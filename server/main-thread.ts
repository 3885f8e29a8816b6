/** The main thread of every server: the actors that own processes and connections, and the data given to all threads. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Checkpointer } from "#actors/checkpointer/checkpointer";
import { EngineProcesses, type EngineProcessesOptions } from "#actors/engine-processes/engine-processes";
import { fatalReportOptions } from "#actors/engine-processes/process-end";
import { CHECKPOINTER, ENGINE_PROCESSES } from "#actors/names";
import { createDelivery } from "#actors/outbound/delivery";
import { outboundActor } from "#actors/specs/outbound";
import type { ThreadCount } from "#actors/tree";
import { type Clock, processUptimeUs } from "#runtime/clock";
import type { Threads } from "#runtime/thread";
import { isPostgresUrl } from "#storage/postgres/location";
import { checkpoint, openCheckpointHandle } from "#storage/sqlite/checkpoint";
import { hostIdentity } from "#system/host-identity";
import { processLimits } from "#system/process-limits";
import type { ServerConfig } from "./config/config.ts";
import { planOpenFiles } from "./open-files.ts";
import type { ThreadData } from "./threads/data.ts";
import { userEnvironment } from "./user-code/register.ts";

/** Data that is the same for all threads. */
export type SharedData = Omit<ThreadData, "thread" | "threadStarts">;

/** Source or compiled: entry modules have the same suffix as this file. */
const SUFFIX = import.meta.url.endsWith(".ts") ? ".ts" : ".js";

/** The entry module of every worker thread. */
export const THREAD_ENTRY = new URL(`./threads/entry${SUFFIX}`, import.meta.url);

/** Callbacks for news from the engine processes. */
export type EngineNews = Pick<EngineProcessesOptions, "staying" | "complain">;

/**
 * The actors that own processes and connections. Engine processes and the checkpointer are made here and not in actors/specs/:
 * the simulator has a model of processes and no files.
 */
export function registerActors(threads: Threads, config: ServerConfig, data: SharedData, told: EngineNews): void {
  const { host } = threads.main;
  host.register({
    name: ENGINE_PROCESSES,
    start: (context, out) => {
      const send = (to: string, message: unknown): void => host.send(to, message);
      const processes = new EngineProcesses({ ...engineOptions(config), ...told }, context.nowUs, send);
      processes.begin(out);
      return processes;
    },
  });
  host.register(
    outboundActor(host, () => ({
      ...createDelivery(config.email, config.webhookNetworks),
      concurrentMax: data.openFiles.outgoing,
    })),
  );
  host.register({
    name: CHECKPOINTER,
    start: () => checkpointerOf(data.store),
  });
}

function checkpointerOf(store: string): Checkpointer {
  // PostgreSQL makes its own checkpoints.
  if (isPostgresUrl(store))
    return new Checkpointer(
      () => true,
      () => undefined,
    );
  const database = openCheckpointHandle(store);
  return new Checkpointer(
    () => checkpoint(store, database),
    () => database.close(),
  );
}

export interface Place {
  threads: ThreadCount;
  /** False: requests come from this process only. */
  listens: boolean;
}

export function threadData(config: ServerConfig, servedDir: string | null, clock: Clock, place: Place): SharedData {
  return {
    config,
    servedDir,
    version: packageVersion(),
    pid: process.pid,
    startedAt: clock.nowUs(),
    startedUptimeUs: processUptimeUs(),
    store: config.store ?? join(config.home, "db.sqlite"),
    host: hostIdentity(),
    openFiles: planOpenFiles(processLimits().openFiles),
    ...place,
  };
}

/** The version of the package that contains this file; package.json is a parent of the source and of the build. */
function packageVersion(): string {
  const folder = SUFFIX === ".ts" ? "../package.json" : "../../package.json";
  return (JSON.parse(readFileSync(new URL(folder, import.meta.url), "utf8")) as { version: string }).version;
}

/**
 * The control thread of an engine makes much short-lived text and keeps little. V8 gives such a thread 32 MB instead of these
 * 16 MB; with 4 MB it copies so much that reports cost more. The thread of user code has V8's own limit (`sdk/engine/main.ts`).
 */
function youngMemoryOptions(): string[] {
  return process.env["NODE_OPTIONS"]?.includes("semi-space") === true ? [] : ["--max-semi-space-size=8"];
}

function engineOptions(config: ServerConfig) {
  const entry = fileURLToPath(new URL(`../sdk/engine/main${SUFFIX}`, import.meta.url));
  const environment = {
    ...userEnvironment(config),
    MILLRACE_ENGINE_SLOTS: String(config.engineSlots),
    MILLRACE_ENGINE_GROWTH_MB: String(config.engineGrowthMb),
    MILLRACE_OTLP_ENDPOINT: config.otlpEndpoint ?? "",
    MILLRACE_TRACE_SAMPLE_RATIO: String(config.traceSampleRatio),
  };
  const conditions = process.execArgv.filter((argument) => argument.startsWith("--conditions"));
  const command = [process.execPath, ...fatalReportOptions(config.home), ...youngMemoryOptions(), ...conditions, entry];
  return { command, commands: config.engineCommands, environment, reportFolder: config.home };
}

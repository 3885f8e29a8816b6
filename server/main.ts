/**
 * The server: takes the lock of the home, starts the tree on its threads, registers the flows of the served directory and
 * stops in order. The path from here: actors/tree.ts says which actors there are, server/threads/ where each is made.
 */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Checkpointer } from "#actors/checkpointer/shell";
import { EngineProcesses } from "#actors/engines/shell";
import { CHECKPOINTER, DISPATCHER, ENGINE_PROCESSES, LISTENING, OUTBOUND, RECORDS, SERVER_LOG } from "#actors/names";
import { createDelivery } from "#actors/outbound/delivery";
import { Outbound } from "#actors/outbound/shell";
import type { ReceiverStarted } from "#actors/rules/messages";
import { placementOf, TREE } from "#actors/tree";
import { hostIdentity } from "#protocol/host-identity";
import { type Clock, createSystemClock, processUptimeUs } from "#runtime/clock";
import { Supervisor } from "#runtime/supervisor";
import { Threads } from "#runtime/thread";
import { checkpoint, openCheckpointHandle } from "#storage/checkpoint";
import { lockHome } from "#storage/lock";
import type { ServerConfig } from "./config.ts";
import type { Discovery } from "./discovery.ts";
import { prepareHome, removeDiscoveryFile, writeDiscoveryFile } from "./discovery-file.ts";
import { type LogMessage, ServerLog } from "./server-log.ts";
import type { ThreadData } from "./threads/data.ts";
import { urlOf } from "./url.ts";
import { registerUserCode, userEnvironment } from "./user-code/register.ts";

/** A server that has started. */
export interface RunningServer {
  url: string;
  /** Resolves with the exit code once the server has stopped, for whatever reason. */
  stopped: Promise<number>;
  /** Stops in order; `stopped` tells when that is done. */
  stop(): Promise<void>;
  /** What was found in the served directory. */
  discovery: Discovery;
  /** The threads, for fault tests. */
  threads: Threads;
}

/** Exit code of a server whose tree gave up. */
const EXIT_FAILURE = 1;

/** How old the figures of GET /api/actors may be. */
const FIGURES_MS = 1000;

/** What all threads are given alike. */
type SharedData = Omit<ThreadData, "thread" | "threadStarts">;

/** Source or compiled: entries have the same suffix as this file. */
const SUFFIX = import.meta.url.endsWith(".ts") ? ".ts" : ".js";

/**
 * Starts a server on a home.
 * @throws when the home is locked by another server, the address is taken, or the store can't be opened.
 */
export async function startServer(config: ServerConfig, servedDir: string): Promise<RunningServer> {
  prepareHome(config.home);
  const lock = lockHome(config.home);
  const clock = createSystemClock();
  const secrets = [config.token, config.email?.password];
  const log = new ServerLog({ home: config.home, secrets, nowUs: () => clock.nowUs() });
  try {
    return await startTree(config, servedDir, clock, log, () => lock.release());
  } catch (cause) {
    log.write("error", `the start failed: ${cause instanceof Error ? cause.message : String(cause)}`);
    lock.release();
    throw cause;
  }
}

async function startTree(
  config: ServerConfig,
  servedDir: string,
  clock: Clock,
  log: ServerLog,
  release: () => void,
): Promise<RunningServer> {
  const data = threadData(config, servedDir, clock);
  const stopped = Promise.withResolvers<number>();
  const listening = Promise.withResolvers<{ port: number }>();
  const threads: Threads = new Threads(
    placementOf(data.threads, new URL(`./threads/entry${SUFFIX}`, import.meta.url)),
    data,
    (name, error, counted) => {
      log.error(`${name} failed and is restarted: ${error.message}`);
      void supervisor.exited(name, error, counted);
    },
  );
  const supervisor = new Supervisor(TREE, threads, clock, {
    restarted: () => undefined,
    gaveUp: (error) => {
      log.error(`stopping after repeated failures: ${error.message}`);
      void stop(EXIT_FAILURE);
    },
  });
  threads.main.host.attach(SERVER_LOG, { deliver: (message) => writeLine(log, message as LogMessage) });
  threads.main.host.attach(LISTENING, { deliver: (message) => listening.resolve(message as { port: number }) });
  registerActors(threads, config, data);
  const code = registerUserCode(threads.main.host, config, servedDir, (line) => log.error(line));
  const discovering = code.discover();
  let stopping: Promise<void> | null = null;
  const stop = (exitCode: number): Promise<void> => {
    if (stopping === null) log.info("stopping");
    stopping ??= stopInOrder(threads, supervisor, config).then(() => {
      log.info(`stopped with exit code ${exitCode}`);
      release();
      stopped.resolve(exitCode);
    });
    return stopping;
  };
  try {
    await threads.open();
    await supervisor.start();
  } catch (cause) {
    code.stop();
    await threads.close();
    throw cause;
  }
  const { port } = await listening.promise;
  const url = urlOf(config.host, port);
  const { auth, host, pid, socket, started_at, version } = discoveryRecord(config, data);
  writeDiscoveryFile(config.home, { auth, host, pid, port, socket, started_at, url, version });
  const discovery = await discovering;
  log.info(startLine(data, url, discovery));
  code.take(discovery);
  const figures = setInterval(() => void sendFigures(threads), FIGURES_MS);
  void stopped.promise.then(() => clearInterval(figures));
  return { url, stopped: stopped.promise, stop: () => stop(0), discovery, threads };
}

function writeLine(log: ServerLog, { level, text }: LogMessage): void {
  if (level === undefined) log.error(text);
  else log.write(level, text);
}

function startLine({ version, pid, servedDir }: SharedData, url: string, { flows, errors }: Discovery): string {
  const found = `flows: ${flows.length}, files that could not be used: ${errors.length}`;
  return `Millrace ${version} started: pid ${pid}, ${url}, serving ${servedDir} (${found})`;
}

/** The actors of the main thread: they own processes and connections. */
function registerActors(threads: Threads, config: ServerConfig, data: SharedData): void {
  const { host } = threads.main;
  host.register({
    name: ENGINE_PROCESSES,
    start: (context, out) => {
      const send = (to: string, message: unknown): void => host.send(to, message);
      const processes = new EngineProcesses(engineOptions(config), context.nowUs, send);
      processes.begin(out);
      return processes;
    },
  });
  host.register({
    name: OUTBOUND,
    start: (_context, out) => {
      out.send(DISPATCHER, { kind: "ReceiverStarted", receiver: OUTBOUND } satisfies ReceiverStarted);
      return new Outbound({ ...createDelivery(config.email), done: (message) => host.send(DISPATCHER, message) });
    },
  });
  host.register({
    name: CHECKPOINTER,
    start: () => {
      const database = openCheckpointHandle(data.databasePath);
      return new Checkpointer(
        () => checkpoint(database),
        () => database.close(),
      );
    },
  });
}

/** Hands the figures of all actors to the one that answers for the server. */
async function sendFigures(threads: Threads): Promise<void> {
  const actors = await threads.figures();
  threads.main.host.send(RECORDS, { kind: "Figures", actors });
}

/** New work is refused first, then the tree stops from the gateway to the writers, then its threads end by themselves. */
async function stopInOrder(threads: Threads, supervisor: Supervisor, config: ServerConfig): Promise<void> {
  removeDiscoveryFile(config.home);
  threads.main.host.send(DISPATCHER, { kind: "StopWork" });
  await supervisor.stop();
  await threads.close();
  if (config.socket !== null) rmSync(config.socket, { force: true });
}

function threadData(config: ServerConfig, servedDir: string, clock: Clock): SharedData {
  return {
    config,
    servedDir,
    version: packageVersion(),
    pid: process.pid,
    startedAt: clock.nowUs(),
    startedUptimeUs: processUptimeUs(),
    databasePath: join(config.home, "db.sqlite"),
    host: hostIdentity(),
    threads: config.threads,
  };
}

function discoveryRecord(config: ServerConfig, data: SharedData) {
  const { pid, startedAt, version } = data;
  const { host, socket, token } = config;
  return { auth: token !== null, host, pid, socket, started_at: startedAt, version };
}

/** The version of the package this file belongs to; its package.json is above the source as well as above the build. */
function packageVersion(): string {
  const folder = SUFFIX === ".ts" ? "../package.json" : "../../package.json";
  return (JSON.parse(readFileSync(new URL(folder, import.meta.url), "utf8")) as { version: string }).version;
}

function engineOptions(config: ServerConfig) {
  const entry = fileURLToPath(new URL(`../sdk/engine/main${SUFFIX}`, import.meta.url));
  const environment = userEnvironment(config);
  const conditions = process.execArgv.filter((argument) => argument.startsWith("--conditions"));
  return { command: [process.execPath, ...conditions, entry], commands: config.engineCommands, environment };
}

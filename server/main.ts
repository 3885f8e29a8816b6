/**
 * The server: takes the lock of the home, starts the tree on its threads, registers the flows of the served directory and
 * stops in order. The path from here: actors/tree.ts says which actors there are, server/threads/ where each is made.
 */

import { readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Checkpointer } from "#actors/checkpointer/shell";
import { EngineProcesses } from "#actors/engines/shell";
import { CHECKPOINTER, DISPATCHER, ENGINE_PROCESSES, LISTENING, OUTBOUND, RECORDS, USER_CODE } from "#actors/names";
import { Outbound } from "#actors/outbound/shell";
import type { ReceiverStarted } from "#actors/rules/messages";
import { placementOf, TREE } from "#actors/tree";
import { UserCode } from "#actors/user-code/shell";
import { hostIdentity } from "#protocol/host-identity";
import { RULE_CALL_MS_MAX } from "#protocol/limits";
import { createSystemClock } from "#runtime/clock";
import { Supervisor } from "#runtime/supervisor";
import { Threads } from "#runtime/thread";
import { checkpoint, openCheckpointHandle } from "#storage/checkpoint";
import { lockHome } from "#storage/lock";
import type { ServerConfig } from "./config.ts";
import type { Discovery } from "./discovery.ts";
import { prepareHome, removeDiscoveryFile, writeDiscoveryFile } from "./discovery-file.ts";
import type { ThreadData } from "./threads/data.ts";
import { urlOf } from "./url.ts";
import { type KeeperOptions, UserCodeKeeper } from "./user-code/keeper.ts";
import { ServedCode } from "./user-code/served-code.ts";

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

/** User code may keep the event loop of its process for as long as one call of a rule may take. */
const USER_CODE_BLOCKED_MS = RULE_CALL_MS_MAX;

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
  try {
    return await startTree(config, servedDir, () => lock.release());
  } catch (cause) {
    lock.release();
    throw cause;
  }
}

async function startTree(config: ServerConfig, servedDir: string, release: () => void): Promise<RunningServer> {
  const clock = createSystemClock();
  const data = threadData(config, servedDir, clock.nowUs());
  const stopped = Promise.withResolvers<number>();
  const listening = Promise.withResolvers<{ port: number }>();
  const threads: Threads = new Threads(
    placementOf(data.threads, new URL(`./threads/entry${SUFFIX}`, import.meta.url)),
    data,
    (name, error, counted) => {
      process.stderr.write(`millrace: ${name} failed and is restarted: ${error.message}\n`);
      void supervisor.exited(name, error, counted);
    },
  );
  const supervisor = new Supervisor(TREE, threads, clock, {
    restarted: () => undefined,
    gaveUp: (error) => {
      process.stderr.write(`millrace: stopping after repeated failures: ${error.message}\n`);
      void stop(EXIT_FAILURE);
    },
  });
  threads.main.host.attach(LISTENING, { deliver: (message) => listening.resolve(message as { port: number }) });
  registerActors(threads, config, data);
  const keeper = new UserCodeKeeper(keeperOptions(config, servedDir));
  const code = registerUserCode(threads, keeper);
  const discovering = keeper.discover();
  let stopping: Promise<void> | null = null;
  const stop = (exitCode: number): Promise<void> => {
    stopping ??= stopInOrder(threads, supervisor, config).then(() => {
      release();
      stopped.resolve(exitCode);
    });
    return stopping;
  };
  try {
    await threads.open();
    await supervisor.start();
  } catch (cause) {
    await threads.close();
    throw cause;
  }
  const { port } = await listening.promise;
  const url = urlOf(config.host, port);
  const { auth, host, pid, socket, started_at, version } = discoveryRecord(config, data);
  writeDiscoveryFile(config.home, { auth, host, pid, port, socket, started_at, url, version });
  const discovery = await discovering;
  code.take(discovery);
  const figures = setInterval(() => void sendFigures(threads), FIGURES_MS);
  void stopped.promise.then(() => clearInterval(figures));
  return { url, stopped: stopped.promise, stop: () => stop(0), discovery, threads };
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
      return new Outbound((message) => host.send(DISPATCHER, message));
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

/** The actor that has user code called, and the code it is about. */
function registerUserCode(threads: Threads, keeper: UserCodeKeeper): ServedCode {
  const { host } = threads.main;
  const send = (to: string, message: unknown): void => host.send(to, message);
  const code = new ServedCode(keeper, { found: (message) => send(USER_CODE, message), complain: say });
  host.register({
    name: USER_CODE,
    start: (context, out) => {
      const { nowUs } = context;
      const actor = new UserCode({
        process: keeper,
        nowUs,
        send,
        routes: () => code.routes,
        discover: () => void code.discoverAgain(),
      });
      actor.begin(out);
      return actor;
    },
  });
  return code;
}

function say(line: string): void {
  process.stderr.write(`millrace: ${line}\n`);
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

function threadData(config: ServerConfig, servedDir: string, startedAt: number): SharedData {
  return {
    config,
    servedDir,
    version: packageVersion(),
    pid: process.pid,
    startedAt,
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

/** By what user code finds this server. */
function userEnvironment(config: ServerConfig): Record<string, string> {
  return { MILLRACE_HOME: config.home, ...(config.token === null ? {} : { MILLRACE_TOKEN: config.token }) };
}

function keeperOptions(config: ServerConfig, servedDir: string): KeeperOptions {
  return {
    dir: resolve(servedDir),
    env: { ...process.env, ...userEnvironment(config) },
    execArgv: process.execArgv,
    heapMb: config.userCodeHeapMb,
    blockedMs: USER_CODE_BLOCKED_MS,
    print: (text) => process.stderr.write(text),
    complain: say,
  };
}

function engineOptions(config: ServerConfig) {
  const entry = fileURLToPath(new URL(`../sdk/engine/main${SUFFIX}`, import.meta.url));
  const environment = userEnvironment(config);
  const conditions = process.execArgv.filter((argument) => argument.startsWith("--conditions"));
  return { command: [process.execPath, ...conditions, entry], commands: config.engineCommands, environment };
}

/**
 * The server: locks the home, starts the tree on its threads, registers the flows of the served directory and stops in order.
 * To read on: actors/tree.ts lists the actors, server/threads/ creates them.
 */
import { rmSync } from "node:fs";
import { DISPATCHER, LISTENING, RECORDS, SERVER_LOG } from "#actors/names";
import { placementOf, TREE } from "#actors/tree";
import { type Clock, createSystemClock } from "#runtime/clock";
import { Supervisor } from "#runtime/supervisor";
import { Threads } from "#runtime/thread";
import { lockHome } from "#storage/home/lock";
import { processLimits } from "#system/process-limits";
import { checkAddressSpace } from "./address-space.ts";
import type { ServerConfig } from "./config/config.ts";
import type { Discovery } from "./discovery/discovery.ts";
import { prepareHome, removeDiscoveryFile, writeDiscoveryFile } from "./discovery-file.ts";
import { registerActors, type SharedData, THREAD_ENTRY, threadData } from "./main-thread.ts";
import { type LogMessage, ServerLog, stallText } from "./server-log.ts";
import { urlOf } from "./url.ts";
import { registerUserCode } from "./user-code/register.ts";

/** A server that has started. */
export interface RunningServer {
  url: string;
  /** Resolves with the exit code once the server has stopped for any reason. */
  stopped: Promise<number>;
  /** Resolves at the start of an orderly stop, with the number of runs that continue in their engines. */
  staying: Promise<number>;
  /** Stops in order; `stopped` resolves when done. */
  stop(): Promise<void>;
  /** The discovery of the served directory. */
  discovery: Discovery;
  /** The threads, for fault tests. */
  threads: Threads;
}

/** Exit code of a server whose tree gave up. */
const EXIT_FAILURE = 1;

/** Maximum age of the figures in GET /api/actors. */
const FIGURES_MS = 1000;

/**
 * Starts a server on a home.
 * @param cut once aborted, discovery is cut short, so that the server completes its start and can be stopped in order
 * @throws when the home is locked by another server, the address is taken, or the store can't be opened.
 */
export async function startServer(config: ServerConfig, servedDir: string, cut?: AbortSignal): Promise<RunningServer> {
  checkAddressSpace(processLimits().addressSpaceBytes);
  prepareHome(config.home);
  const lock = lockHome(config.home);
  const clock = createSystemClock();
  const secrets = [config.token, config.email?.password];
  const log = new ServerLog({ home: config.home, secrets, nowUs: () => clock.nowUs() });
  try {
    return await startTree(config, servedDir, clock, log, () => lock.release(), cut);
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
  cut?: AbortSignal,
): Promise<RunningServer> {
  const data = threadData(config, servedDir, clock, { threads: config.threads, listens: true });
  if (data.openFiles.warning !== null) log.write("warn", data.openFiles.warning);
  const stopped = Promise.withResolvers<number>();
  const listening = Promise.withResolvers<{ port: number }>();
  const threads: Threads = new Threads(placementOf(data.threads, THREAD_ENTRY), data, (name, error, counted) => {
    log.error(`${name} ${counted ? "failed and is restarted" : "loads again"}: ${error.message}`);
    void supervisor.exited(name, error, counted);
  });
  const supervisor = new Supervisor(TREE, threads, clock, {
    restarted: () => undefined,
    gaveUp: (error) => {
      log.error(`stopping after repeated failures: ${error.message}`);
      void stop(EXIT_FAILURE);
    },
  });
  threads.main.onStall((stall) => writeLine(log, { level: "warn", text: stallText(stall) }));
  threads.main.host.attach(SERVER_LOG, { deliver: (message) => writeLine(log, message as LogMessage) });
  threads.main.host.attach(LISTENING, { deliver: (message) => listening.resolve(message as { port: number }) });
  const staying = Promise.withResolvers<number>();
  registerActors(threads, config, data, {
    staying: (runs) => {
      if (runs > 0) log.info(`runs that go on in their engines: ${runs}`);
      staying.resolve(runs);
    },
    complain: (text) => log.error(text),
  });
  const code = registerUserCode(threads.main.host, config, servedDir, {
    complain: (line) => log.error(line),
    tell: (line) => log.notice(line),
  });
  const discovering = code.discover();
  cut?.addEventListener("abort", () => code.stop(), { once: true });
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
  // After a cut, files that were not examined must not count as deleted.
  if (!cut?.aborted) code.take(discovery);
  const figures = setInterval(() => void sendFigures(threads), FIGURES_MS);
  void stopped.promise.then(() => clearInterval(figures));
  return { url, stopped: stopped.promise, staying: staying.promise, stop: () => stop(0), discovery, threads };
}

function writeLine(log: ServerLog, { level, text }: LogMessage): void {
  if (level === undefined) log.error(text);
  else log.write(level, text);
}

function startLine({ version, pid, servedDir }: SharedData, url: string, { flows, problems }: Discovery): string {
  const unused = problems.filter(({ kind }) => kind === "file").length;
  const found = `flows: ${flows.length}, files that could not be used: ${unused}`;
  return `Millrace ${version} started: pid ${pid}, ${url}, serving ${servedDir} (${found})`;
}

/** Sends the figures of all actors to the records actor, which serves them. */
async function sendFigures(threads: Threads): Promise<void> {
  const actors = await threads.figures();
  threads.main.host.send(RECORDS, { kind: "Figures", actors });
}

/** New work is rejected first, then the tree stops from the gateway to the writers, then the threads end by themselves. */
async function stopInOrder(threads: Threads, supervisor: Supervisor, config: ServerConfig): Promise<void> {
  removeDiscoveryFile(config.home);
  threads.main.host.send(DISPATCHER, { kind: "StopWork" });
  await supervisor.stop();
  await threads.close();
  if (config.socket !== null) rmSync(config.socket, { force: true });
}

function discoveryRecord(config: ServerConfig, data: SharedData) {
  const { pid, startedAt, version } = data;
  const { host, socket, token } = config;
  return { auth: token !== null, host, pid, socket, started_at: startedAt, version };
}

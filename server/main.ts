/**
 * The server: locks the home, starts the tree on its threads, registers the flows of the served directory and stops in order.
 * To read on: actors/tree.ts lists the actors, server/threads/ creates them.
 */
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { DISPATCHER, GATEWAY, LISTENING, RECORDS, REGISTERED, SCRAPES, SERVER_LOG } from "#actors/names";
import type { Figures } from "#actors/records/records";
import { placementOf, TREE } from "#actors/tree";
import type { Serving } from "#protocol/wire/feed";
import { type Clock, systemClock } from "#runtime/clock";
import { Supervisor } from "#runtime/supervisor";
import { Threads } from "#runtime/thread";
import { lockHome } from "#storage/home/lock";
import { deleteUnusedStepFiles } from "#storage/home/step-files";
import { processLimits } from "#system/process-limits";
import { checkAddressSpace } from "./address-space.ts";
import type { ServerConfig } from "./config/config.ts";
import type { Discovery } from "./discovery/discovery.ts";
import { prepareHome, removeDiscoveryFile, writeDiscoveryFile } from "./discovery-file.ts";
import { Draining } from "./draining.ts";
import { registerActors, type SharedData, THREAD_ENTRY, threadData } from "./main-thread.ts";
import { type LogMessage, ServerLog, stallText } from "./server-log.ts";
import { urlOf } from "./url.ts";
import { registerUserCode } from "./user-code/register.ts";

/** A server that has started. */
export interface RunningServer {
  url: string;
  /** Resolves with the exit code once the server has stopped for any reason. */
  stopped: Promise<number>;
  /** Resolves at the start of an orderly stop, with the number of runs under way in engines. */
  staying: Promise<number>;
  /** Waits for runs as configured, then stops in order; `stopped` resolves when done. */
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

/** Interval of the deletion of unused files of step results. */
const CLEAN_MS = 6 * 3_600_000;

/** How long the start waits for the registration of the flows that it found. */
const REGISTER_MS_MAX = 5_000;

/**
 * Starts a server on a home.
 * @param cut once aborted, discovery is cut short, so that the server completes its start and can be stopped in order
 * @throws when the home is locked by another server, the address is taken, or the store can't be opened.
 */
export async function startServer(config: ServerConfig, servedDir: string, cut?: AbortSignal): Promise<RunningServer> {
  checkAddressSpace(processLimits().addressSpaceBytes);
  prepareHome(config.home);
  const lock = lockHome(config.home);
  const clock = systemClock;
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
      draining.cut();
      void stop(EXIT_FAILURE);
    },
  });
  threads.main.onStall((stall) => writeLine(log, { level: "warn", text: stallText(stall) }));
  threads.main.host.attach(SERVER_LOG, { deliver: (message) => writeLine(log, message as LogMessage) });
  threads.main.host.attach(LISTENING, { deliver: (message) => listening.resolve(message as { port: number }) });
  threads.main.host.attach(SCRAPES, { deliver: () => threads.watchLoops() });
  const draining = new Draining(() => threads.main.host.send(DISPATCHER, { kind: "StopWork" }));
  void draining.staying.then((runs) => {
    if (runs > 0) log.info(config.drainSecs > 0 ? `waiting for runs: ${runs}` : `runs that go on in their engines: ${runs}`);
  });
  registerActors(threads, config, data, {
    staying: (runs) => draining.count(runs),
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
    stopping ??= stopInOrder(threads, supervisor, config, draining).then(() => {
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
  if (!cut?.aborted) {
    code.take(discovery);
    await registered(threads);
  }
  const upkeep = startUpkeep(threads, config, data, { clock, log, isStopping: () => stopping !== null });
  void stopped.promise.then(upkeep);
  return { url, stopped: stopped.promise, staying: draining.staying, stop: () => stop(0), discovery, threads };
}

/** Whoever waited for the start may create runs at once. A store that takes no writes registers nothing. */
async function registered(threads: Threads): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  threads.main.host.attach(REGISTERED, { deliver: () => resolve() });
  await Promise.race([promise, sleep(REGISTER_MS_MAX, undefined, { ref: false })]);
}

/** What recurs while the server runs; returns what ends it. */
function startUpkeep(
  threads: Threads,
  { home }: ServerConfig,
  { store }: SharedData,
  { clock, log, isStopping }: { clock: Clock; log: ServerLog; isStopping(): boolean },
): () => void {
  const clean = () => void cleanStepFiles(home, store, clock, log);
  // Repeated, because a gateway whose thread was restarted begins as one that is starting.
  const serving = () => {
    if (!isStopping()) threads.main.host.send(GATEWAY, { kind: "Serving", reason: null } satisfies Serving);
  };
  const figures = () => {
    serving();
    void sendFigures(threads);
  };
  clean();
  serving();
  const intervals = [setInterval(figures, FIGURES_MS), setInterval(clean, CLEAN_MS)];
  return () => {
    for (const interval of intervals) clearInterval(interval);
  };
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

/** Deletes the files of large step results that no step names any more. */
async function cleanStepFiles(home: string, store: string, clock: Clock, log: ServerLog): Promise<void> {
  try {
    const deleted = await deleteUnusedStepFiles(home, store, clock.nowUs() / 1_000);
    if (deleted > 0) log.info(`deleted ${deleted} files of step results that no step names`);
  } catch (error) {
    log.error(`files of step results were not cleaned up: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Sends the figures of all actors and threads to the records actor, which serves them. */
async function sendFigures(threads: Threads): Promise<void> {
  const figures = await threads.figures();
  threads.main.host.send(RECORDS, { kind: "Figures", ...figures } satisfies Figures);
}

/** New work is rejected first, then the tree stops from the gateway to the writers, then the threads end by themselves. */
async function stopInOrder(threads: Threads, supervisor: Supervisor, config: ServerConfig, draining: Draining): Promise<void> {
  threads.main.host.send(GATEWAY, { kind: "Serving", reason: "stopping" } satisfies Serving);
  await draining.wait(config.drainSecs);
  removeDiscoveryFile(config.home);
  await supervisor.stop();
  await threads.close();
  if (config.socket !== null) rmSync(config.socket, { force: true });
}

function discoveryRecord(config: ServerConfig, data: SharedData) {
  const { pid, startedAt, version } = data;
  const { host, socket, token } = config;
  return { auth: token !== null, host, pid, socket, started_at: startedAt, version };
}

/**
 * The server inside a script: the same tree on the script's own thread, without a listener, discovery or engine processes. It
 * holds the lock of the home, so no other server runs there, and exists for one piece of work: schedules do not fire, and
 * calls of user code by rules stay stored until a server with that code runs.
 */
import { DISPATCHER, GATEWAY, LISTENING, REGISTERED, SCRAPES, SERVER_LOG, USER_CODE } from "#actors/names";
import type { ReceiverStarted } from "#actors/rule-engine/rule-messages";
import { placementOf, TREE } from "#actors/tree";
import type { Gateway } from "#gateway/gateway";
import { ask, type LocalAnswer, type LocalRequest } from "#gateway/request/local-exchange";
import { systemClock } from "#runtime/clock";
import { actorsOn } from "#runtime/placement";
import { Supervisor } from "#runtime/supervisor";
import { Threads } from "#runtime/thread";
import { lockHome } from "#storage/home/lock";
import { loadConfig, type ServerConfig } from "./config/config.ts";
import { prepareHome } from "./discovery-file.ts";
import { registerActors, type SharedData, THREAD_ENTRY, threadData } from "./main-thread.ts";
import { type LogMessage, ServerLog } from "./server-log.ts";
import { setUp as setUpGateway } from "./threads/gateway.ts";
import { partsOf } from "./threads/parts.ts";

export interface InProcessServer {
  /** Sends a request, as over HTTP. Rejects where the connection would have been cut. */
  send(request: LocalRequest): Promise<LocalAnswer>;
  stop(): Promise<void>;
}

/**
 * @param configDir directory whose millrace.toml applies, as if the directory was served
 * @throws HomeLockedError while another process holds the home; ConfigError, StorageError as a server does
 */
export async function startInProcess(home: string, configDir: string): Promise<InProcessServer> {
  const { config } = loadConfig({ home, engines: false, schedules: false, open: false }, process.env, configDir);
  prepareHome(config.home);
  const lock = lockHome(config.home);
  try {
    return await start(config, () => lock.release());
  } catch (cause) {
    lock.release();
    throw cause;
  }
}

async function start(config: ServerConfig, release: () => void): Promise<InProcessServer> {
  const clock = systemClock;
  const log = new ServerLog({ home: config.home, secrets: [config.token, config.email?.password], nowUs: () => clock.nowUs() });
  const data = threadData(config, null, clock, { threads: "none", listens: false });
  const threads: Threads = new Threads(placementOf(data.threads, THREAD_ENTRY), data, (name, error, counted) => {
    log.error(`${name} failed and is restarted: ${error.message}`);
    void supervisor.exited(name, error, counted);
  });
  const supervisor = new Supervisor(TREE, threads, clock, {
    restarted: () => undefined,
    gaveUp: (error) => log.error(`stopping after repeated failures: ${error.message}`),
  });
  const gateway = await registerAll(threads, config, data, log);
  await threads.open();
  await supervisor.start();
  return {
    send: async (request) => await ask((exchange) => gateway().serve(exchange), request),
    stop: async () => {
      threads.main.host.send(DISPATCHER, { kind: "StopWork" });
      await supervisor.stop();
      await threads.close();
      release();
    },
  };
}

/** Registers all actors on the main thread; the returned function gives the gateway after its start. */
async function registerAll(threads: Threads, config: ServerConfig, data: SharedData, log: ServerLog): Promise<() => Gateway> {
  const { host } = threads.main;
  host.attach(SERVER_LOG, { deliver: (message) => log.error((message as LogMessage).text) });
  for (const name of [LISTENING, REGISTERED, SCRAPES]) host.attach(name, { deliver: () => undefined });
  registerActors(threads, config, data, { staying: () => undefined, complain: (text) => log.error(text) });
  host.register({
    name: USER_CODE,
    start: (_context, out) => {
      out.send(DISPATCHER, { kind: "ReceiverStarted", receiver: USER_CODE } satisfies ReceiverStarted);
      return { receive: () => undefined };
    },
  });
  let opened: Gateway | null = null;
  const here = { ...data, thread: "main", threadStarts: 1 };
  const others = actorsOn(placementOf(data.threads, THREAD_ENTRY), "main").filter((name) => name !== GATEWAY);
  const specs = (await partsOf(others)).flatMap((part) => part.setUp(here, threads.main));
  for (const spec of [...specs, ...setUpGateway(here, threads.main, (gateway) => (opened = gateway))]) host.register(spec);
  return () => {
    if (opened === null) throw new Error("the gateway has not started");
    return opened;
  };
}

/**
 * The server of the home for a script: the running one, or else one inside this process for as long as it is used.
 */
import { dirname, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MillraceError } from "../client/error.ts";
import type { Answer, Outgoing } from "../client/http.ts";
import { Millrace } from "../client/index.ts";
import { clientHome, findLocalServer } from "../client/local-server.ts";
import { shared } from "../execution/shared-state.ts";
import { HomeInUseError } from "./home-in-use-error.ts";

export interface HomeServer {
  client: Millrace;
  /** Requests to the server inside this process; null if another process is the server. */
  local: LocalSend | null;
}

export type LocalSend = (request: Outgoing & { path: string }) => Promise<Answer>;

/** The server inside this process, open while it is in use. */
interface Opened {
  server: Promise<{ send: LocalSend; stop(): Promise<void> }>;
  users: number;
  closing: Promise<void> | null;
}

/** How long a script waits for another script that has the home, or for a server that is starting on it. */
const HOME_WAIT_MS = 30_000;
const LOOK_AGAIN_MS = 100;
/** The server inside the process stays open this long after its last use: scripts often make several requests in a row. */
const LINGER_MS = 100;

const opened = shared.homeServers as Map<string, Opened>;

/**
 * Calls `work` with the server of the home.
 * @throws HomeInUseError if neither a server nor the home is available; MillraceError as the client does
 */
export async function withHomeServer<T>(work: (server: HomeServer) => Promise<T>): Promise<T> {
  // An engine whose server has gone must not take over the home.
  if (shared.served) return await work({ client: new Millrace(), local: null });
  const home = clientHome();
  const limitMs = performance.now() + HOME_WAIT_MS;
  for (;;) {
    const entry = opened.get(home);
    if (entry === undefined) {
      if (isServed(home)) return await work({ client: new Millrace(), local: null });
      open(home);
    } else if (entry.closing !== null) {
      await entry.closing;
    } else {
      const server = await entry.server.catch(ifHeld);
      // The server may have closed during this wait.
      if (server !== null && entry.closing === null) return await using(home, entry, server.send, work);
      if (performance.now() > limitMs) throw inUse(home);
      if (server === null) await sleep(LOOK_AGAIN_MS);
    }
  }
}

async function using<T>(home: string, entry: Opened, send: LocalSend, work: (server: HomeServer) => Promise<T>): Promise<T> {
  entry.users += 1;
  const peer = { url: `the home ${home}`, token: null, send: (path: string, request: Outgoing) => send({ ...request, path }) };
  try {
    return await work({ client: new Millrace({ peer: () => Promise.resolve(peer) }), local: send });
  } finally {
    entry.users -= 1;
    if (entry.users === 0) setTimeout(() => closeUnused(home, entry), LINGER_MS);
  }
}

function closeUnused(home: string, entry: Opened): void {
  if (entry.users > 0 || entry.closing !== null) return;
  entry.closing = entry.server.then((server) => server.stop()).finally(() => opened.delete(home));
}

function open(home: string): void {
  const server = import("#server/in-process").then(({ startInProcess }) => startInProcess(home, scriptDirectory()));
  opened.set(home, { server, users: 0, closing: null });
  server.catch(() => opened.delete(home));
}

/** The directory of the script, whose millrace.toml applies as if the directory was served. */
function scriptDirectory(): string {
  const script = process.argv[1];
  return script === undefined ? process.cwd() : dirname(resolve(script));
}

function isServed(home: string): boolean {
  try {
    findLocalServer(home);
    return true;
  } catch (error) {
    if (error instanceof MillraceError && error.reason === "unreachable") return false;
    throw error;
  }
}

/** Null for a home that another process holds: a server that is about to listen, or a script that is about to end. */
function ifHeld(error: unknown): null {
  if (error instanceof Error && error.name === "HomeLockedError") return null;
  throw error;
}

function inUse(home: string): HomeInUseError {
  return new HomeInUseError(
    `another process has had ${home} for ${HOME_WAIT_MS / 1000} s: run \`millrace serve\`, so that scripts can run beside each other`,
  );
}

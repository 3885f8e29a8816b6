/**
 * The part of the client that needs Node: it finds the server of this machine through its discovery file, and connects over its
 * Unix socket. Browsers never load this file. It uses node:http rather than fetch because loading fetch would take most of the
 * time of a short command. node:http is not imported, because an import evaluates its export of WebSocket, which loads the same
 * code.
 */

import { lstatSync, readFileSync, statSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { MillraceError } from "./error.ts";
import { type Answer, fetchPeer, type Outgoing, type Peer } from "./http.ts";

const { request: httpRequest } = process.getBuiltinModule("node:http");

/** A process that started later than the file records, by more than this, only reused the pid. */
const START_SLACK_US = 5_000_000;
const CLOCK_TICKS_PER_SEC = 100;

export interface LocalOptions {
  /** Default: MILLRACE_HOME, or `~/.millrace`. */
  home?: string | undefined;
  /** Default: MILLRACE_TOKEN, or none. */
  token?: string | null | undefined;
}

/** The content of a discovery file of a running server. */
export interface LocalServer {
  url: string;
  socket: string | null;
  auth: boolean;
  pid: number;
  version: string;
  /** Microseconds since the Unix epoch. */
  startedAt: number;
}

/** The data directory that clients use. @throws TypeError for an empty name, which would mean the working directory. */
export function clientHome(home?: string): string {
  if (home === "") throw new TypeError("the home must not be empty: leave it out for the default");
  return resolve(home ?? (process.env["MILLRACE_HOME"] || join(homedir(), ".millrace")));
}

/**
 * Reads `<home>/server.json`.
 * @throws MillraceError (`unreachable`) when no server runs there, or when other users could have written the file.
 */
export function findLocalServer(home: string): LocalServer {
  const path = join(home, "server.json");
  const found = readRecord(path, home);
  checkOwner(home, false);
  checkOwner(path, true);
  if (!isAlive(found.pid, found.startedAt)) {
    throw absent(`the server of ${home} has ended without taking leave (process ${found.pid} is gone)`);
  }
  return found;
}

/** The transport to this machine's server: its socket if there is no token, else its address. */
export function localPeer(options: LocalOptions = {}): Peer {
  const server = findLocalServer(clientHome(options.home));
  const token = options.token ?? (process.env["MILLRACE_TOKEN"] || null);
  if (token === null && server.socket !== null) return socketPeer(server.socket, null);
  return nodePeer(server.url, token);
}

export function socketPeer(socketPath: string, token: string | null): Peer {
  return {
    url: `unix:${socketPath}`,
    token,
    send: (path, request) => send({ socketPath, path, host: "localhost" }, request),
  };
}

function nodePeer(url: string, token: string | null): Peer {
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== "http:") return fetchPeer(url, token);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  return { url, token, send: (path, request) => send({ host, port: Number(port || 80), path }, request) };
}

interface Target {
  path: string;
  host: string;
  port?: number;
  socketPath?: string;
}

function send(target: Target, request: Outgoing): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const body = request.body === null ? null : Buffer.from(request.body);
    const headers = body === null ? request.headers : { ...request.headers, "content-length": String(body.length) };
    const outgoing = httpRequest({ ...target, method: request.method, headers, signal: request.signal }, (incoming) => {
      resolve(answerOf(incoming));
    });
    outgoing.on("error", reject);
    outgoing.end(body ?? undefined);
  });
}

function answerOf(incoming: IncomingMessage): Answer {
  return {
    status: incoming.statusCode ?? 0,
    header(name) {
      const value = incoming.headers[name];
      return value === undefined ? null : String(value);
    },
    async text() {
      const parts: Buffer[] = [];
      for await (const chunk of incoming) parts.push(chunk);
      return Buffer.concat(parts).toString("utf8");
    },
    chunks: () => incoming,
  };
}

function readRecord(path: string, home: string): LocalServer {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    throw absent(`no server is running for ${home}`);
  }
  let record: unknown;
  try {
    record = JSON.parse(text);
  } catch {
    record = null;
  }
  const { url, socket, auth, pid, version, started_at } = (record ?? {}) as Record<string, unknown>;
  if (typeof url !== "string" || typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1) {
    throw absent(`${path} is not a discovery file`);
  }
  return {
    url,
    pid,
    socket: typeof socket === "string" ? socket : null,
    auth: auth === true,
    version: typeof version === "string" ? version : "",
    startedAt: typeof started_at === "number" ? started_at : 0,
  };
}

/** A file that another user could have written may name another user's server, which would then receive our token. */
function checkOwner(path: string, noLink: boolean): void {
  const uid = process.getuid?.();
  if (uid === undefined) return;
  const stats = noLink ? lstatSync(path) : statSync(path);
  if (noLink && stats.isSymbolicLink()) throw absent(`${path} is a link, which no server makes: remove it`);
  if (stats.uid !== uid) throw absent(`${path} belongs to another user`);
  if ((stats.mode & 0o022) !== 0) throw absent(`${path} can be written to by others: make it private with chmod go-w`);
}

/** Whether the process named in a discovery file still runs; another process that reused the pid does not count. */
export function isAlive(pid: number, startedAtUs: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
  const processStartUs = startOf(pid);
  return processStartUs === null || startedAtUs === 0 || processStartUs <= startedAtUs + START_SLACK_US;
}

/** Start of a process in microseconds since the epoch, null if the system does not report it. */
function startOf(pid: number): number | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    const bootSecs = /^btime (\d+)$/m.exec(readFileSync("/proc/stat", "utf8"))?.[1];
    // Field 22 of proc_pid_stat(5); the first two fields were removed with the name.
    const ticks = fields[19];
    if (ticks === undefined || bootSecs === undefined) return null;
    return Math.round((Number(bootSecs) + Number(ticks) / CLOCK_TICKS_PER_SEC) * 1_000_000);
  } catch {
    return null;
  }
}

function absent(message: string): MillraceError {
  return new MillraceError(message, { reason: "unreachable", status: 0 });
}

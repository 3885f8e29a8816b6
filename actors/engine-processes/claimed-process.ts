/**
 * Checks that a process is the engine that claims its pid. External engines report their own pid, and an engine in a
 * container reports a pid of the container: on this host, that pid may belong to another process.
 */
import { readFileSync } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";
import { parentOf } from "./process-table.ts";

export class ClaimedProcesses {
  #reading: Promise<unknown> = Promise.resolve();
  #next: Promise<ReadonlySet<string>> | null = null;
  /**
   * Checks run in sequence, because thousands in parallel would fill the memory. Waiting checks of the same process are
   * merged.
   */
  #checked: Promise<unknown> = Promise.resolve();
  readonly #waiting = new Map<number, Promise<boolean>>();

  /**
   * True for a process that was started with the engine's id, or that holds (itself or its parent) the other end of a
   * connection with this process. Without /proc no check is possible, so the claim is believed.
   */
  isEngine(pid: number, engineId: string): Promise<boolean> {
    if (process.platform !== "linux" || wasStartedAs(pid, engineId)) return Promise.resolve(true);
    const waiting = this.#waiting.get(pid);
    if (waiting !== undefined) return waiting;
    const peers = this.#peers();
    const check = this.#checked.then(async () => {
      this.#waiting.delete(pid);
      return await isConnected(pid, await peers);
    });
    this.#waiting.set(pid, check);
    this.#checked = check.catch(() => undefined);
    return check;
  }

  /**
   * Reads the peers once for all waiting checks, because thousands of engines may poll together. A read in progress may be
   * too early, so the next read is used.
   */
  #peers(): Promise<ReadonlySet<string>> {
    this.#next ??= this.#reading.then(() => {
      this.#next = null;
      const reading = readPeers();
      this.#reading = reading.catch(() => undefined);
      return reading;
    });
    return this.#next;
  }
}

/** Whether the process or its parent holds one of these sockets. */
async function isConnected(pid: number, peers: ReadonlySet<string>): Promise<boolean> {
  const parent = parentOf(pid);
  const family = parent === null || parent === process.pid ? [pid] : [pid, parent];
  for (const each of family) if ((await socketsOf(each)).some((socket) => peers.has(socket))) return true;
  return false;
}

/** True when the command line contains the engine's id, as in engines started by a server. */
function wasStartedAs(pid: number, engineId: string): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return words.some((word, at) => word === `--engine-id=${engineId}` || (word === "--engine-id" && words[at + 1] === engineId));
  } catch {
    return false;
  }
}

interface Connection {
  /** The inode of the socket. */
  socket: string;
  local: string;
  remote: string;
}

/** The sockets at the other ends of this process's TCP connections, if they are on this host. */
async function readPeers(): Promise<ReadonlySet<string>> {
  const own = new Set(await socketsOf(process.pid));
  const connections = (await Promise.all([readConnections("tcp"), readConnections("tcp6")])).flat();
  const farEnds = new Set<string>();
  for (const { socket, local, remote } of connections) if (own.has(socket)) farEnds.add(`${remote} ${local}`);
  return new Set(connections.filter(({ local, remote }) => farEnds.has(`${local} ${remote}`)).map(({ socket }) => socket));
}

/** The columns of /proc/net/tcp, see proc(5). */
const LOCAL_COLUMN = 1;
const REMOTE_COLUMN = 2;
const SOCKET_COLUMN = 9;
/** Prefix of an IPv4 address mapped to IPv6: the two ends of a connection may be listed in different forms. */
const MAPPED = /^0000000000000000FFFF0000/;

async function readConnections(family: "tcp" | "tcp6"): Promise<Connection[]> {
  // Without IPv6 the second list does not exist.
  const text = await readFile(`/proc/net/${family}`, "latin1").catch(() => "");
  return text
    .split("\n")
    .slice(1, -1)
    .map((line) => {
      const columns = line.trim().split(/\s+/);
      const address = (column: number): string => (columns[column] ?? "").replace(MAPPED, "");
      return { socket: columns[SOCKET_COLUMN] ?? "", local: address(LOCAL_COLUMN), remote: address(REMOTE_COLUMN) };
    });
}

/** Empty for a process that is gone or belongs to another user. */
async function socketsOf(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  const targets = await Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => "")));
  return targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []);
}

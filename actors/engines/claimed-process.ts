/**
 * Whether a process is the engine whose pid it has. Engines that others start name their pid themselves, and one in a container
 * names a pid of the container: under that, some other process of this host may run.
 */
import { readFileSync } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";
import { parentOf } from "./process-table.ts";

export class ClaimedProcesses {
  #reading: Promise<unknown> = Promise.resolve();
  #next: Promise<ReadonlySet<string>> | null = null;
  /** Checks are made one after the other: thousands at once would fill the memory. Those of one process that wait are one. */
  #checked: Promise<unknown> = Promise.resolve();
  readonly #waiting = new Map<number, Promise<boolean>>();

  /**
   * True for a process that was started under the engine's id, or that is at the other end of a connection with this process,
   * itself or by its parent. Where the system has no /proc nothing can be known, so it is taken at its word.
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

  /** One look serves all who wait for it: thousands of engines may poll at once. A look that has begun may be too early. */
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

/** Whether a process, itself or by its parent, has one of these sockets. */
async function isConnected(pid: number, peers: ReadonlySet<string>): Promise<boolean> {
  const parent = parentOf(pid);
  const family = parent === null || parent === process.pid ? [pid] : [pid, parent];
  for (const each of family) if ((await socketsOf(each)).some((socket) => peers.has(socket))) return true;
  return false;
}

/** Its command line names the engine, as those do that a server has started. */
function wasStartedAs(pid: number, engineId: string): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return words.some((word, at) => word === `--engine-id=${engineId}` || (word === "--engine-id" && words[at + 1] === engineId));
  } catch {
    return false;
  }
}

interface Connection {
  /** The number by which the system knows the socket. */
  socket: string;
  local: string;
  remote: string;
}

/** The sockets at the other ends of this process's TCP connections, as far as they are on this host. */
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
/** An IPv4 address as IPv6: one end of a connection may be listed so, the other as it is. */
const MAPPED = /^0000000000000000FFFF0000/;

async function readConnections(family: "tcp" | "tcp6"): Promise<Connection[]> {
  // Without IPv6 there is no second list.
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

/** None of a process that has gone or belongs to somebody else. */
async function socketsOf(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  const targets = await Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => "")));
  return targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []);
}

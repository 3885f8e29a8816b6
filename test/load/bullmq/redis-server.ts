/** Starts a redis-server of its own on a free loopback port, with an append-only file in a new folder. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LoadFailed } from "../load-failed.ts";

const HOST = "127.0.0.1";
const START_LIMIT_MS = 20_000;
const LOOK_EVERY_MS = 20;

/** When the append-only file is flushed to the disk: after each command, or once a second. */
export type AppendFsync = "always" | "everysec";

export interface RedisServer {
  host: string;
  port: number;
  pid: number;
  stop: () => Promise<void>;
}

/** @throws LoadFailed if redis-server is not installed */
export function redisVersion(): string {
  try {
    const output = execFileSync("redis-server", ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return /v=(\S+)/.exec(output)?.[1] ?? "unknown";
  } catch {
    throw new LoadFailed("redis-server is not installed; install it with: sudo apt-get install redis-server");
  }
}

export async function startRedis(appendFsync: AppendFsync): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-load-redis-"));
  const port = await freePort();
  const settings = { bind: HOST, port: String(port), dir: folder, appendonly: "yes", appendfsync: appendFsync, save: "" };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn("redis-server", args, { stdio: "ignore" });
  const stop = async () => {
    await stopProcess(child);
    rmSync(folder, { recursive: true, force: true });
  };
  let failure: string | null = null;
  child.once("error", (error) => {
    failure = error.message;
  });
  child.once("exit", (code, signal) => {
    failure ??= `ended with ${signal ?? `code ${code}`}`;
  });
  const begun = performance.now();
  while (!(await answers(port))) {
    if (failure === null && performance.now() - begun < START_LIMIT_MS) await sleep(LOOK_EVERY_MS);
    else {
      await stop();
      throw new LoadFailed(`redis-server ${failure ?? "did not answer in time"}`);
    }
  }
  return { host: HOST, port, pid: child.pid ?? 0, stop };
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, HOST);
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (typeof address !== "object" || address === null) throw new LoadFailed("there is no free port");
  return address.port;
}

/** Whether a server on that port answers PING. */
async function answers(port: number): Promise<boolean> {
  const socket = connect(port, HOST);
  try {
    socket.write("PING\r\n");
    const [chunk] = (await once(socket, "data")) as [Buffer];
    return chunk.toString().startsWith("+PONG");
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

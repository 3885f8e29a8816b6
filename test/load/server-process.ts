/** Starts a server as a child process, waits for its discovery file and its first answer, and stops it by its process id. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Endpoint, HttpConnection } from "./http-connection.ts";
import { field, parseEndpoint } from "./target.ts";

/** A start takes a second or two; far longer on a machine under load. */
const START_LIMIT_MS = 120_000;
/** Also the resolution of the start time. */
const LOOK_EVERY_MS = 2;
/** An orderly stop takes less; afterwards the process is killed. */
const STOP_LIMIT_MS = 10_000;
const OUTPUT_KEPT = 4_000;

export interface StartedServer {
  endpoint: Endpoint;
  pid: number;
  startMs: number;
  stop: () => Promise<void>;
}

export interface ServerCommand {
  program: string;
  args: readonly string[];
  cwd: string;
  /** Directory in which the server writes server.json. */
  home: string;
  token: string | null;
  /** Prefix of the environment variables that configure this server: the user's own settings must not affect it. */
  settingsPrefix: string;
  /** Further variables of its environment. */
  environment?: Readonly<Record<string, string>>;
}

export async function startServer(command: ServerCommand): Promise<StartedServer> {
  const startedAt = performance.now();
  const child = spawn(command.program, command.args, {
    cwd: command.cwd,
    env: {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith(command.settingsPrefix))),
      ...command.environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const keep = (text: Buffer) => {
    output = (output + text.toString()).slice(-OUTPUT_KEPT);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  let failure: string | null = null;
  child.once("error", (error) => {
    failure = error.message;
  });
  child.once("exit", (code, signal) => {
    failure ??= `ended with ${signal ?? `code ${code}`}`;
  });
  try {
    for (;;) {
      const endpoint = await firstAnswer(child, command);
      if (endpoint !== null) {
        return { endpoint, pid: child.pid ?? 0, startMs: performance.now() - startedAt, stop: () => stopServer(child) };
      }
      if (failure !== null) throw new Error(`${command.program} ${failure}\n${output}`);
      if (performance.now() - startedAt > START_LIMIT_MS) throw new Error(`${command.program} did not answer in time\n${output}`);
      await sleep(LOOK_EVERY_MS);
    }
  } catch (error) {
    await stopServer(child);
    throw error;
  }
}

/** Null while the discovery file is missing or of another process, or the server does not answer yet. */
async function firstAnswer(child: ChildProcess, command: ServerCommand): Promise<Endpoint | null> {
  let discovery: unknown;
  try {
    discovery = JSON.parse(readFileSync(join(command.home, "server.json"), "utf8"));
  } catch {
    return null;
  }
  const url = field(discovery, "url");
  if (field(discovery, "pid") !== child.pid || typeof url !== "string") return null;
  const endpoint = parseEndpoint(url, command.token);
  const connection = new HttpConnection(endpoint);
  try {
    return (await connection.get("/api/health")).status === 200 ? endpoint : null;
  } catch {
    return null;
  } finally {
    connection.close();
  }
}

async function stopServer(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const limit = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
  await ended;
  clearTimeout(limit);
  // Engines that survive their server inherit its output, which must not keep this process alive.
  child.stdout?.destroy();
  child.stderr?.destroy();
}

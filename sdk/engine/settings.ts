/** The engine's command line, environment and times. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ENGINE_SLOTS_MAX } from "#protocol/limits";
import { hostIdentity } from "#system/host-identity";
import type { TraceSettings } from "../tracing/tracer.ts";
import type { ServerAddress } from "./connection.ts";
import type { EngineSettings } from "./engine.ts";

/**
 * Time for user code to end after a cancel. With up to 5 s until a script's heartbeat receives the cancel, or 1 s in which a
 * blocked thread is recognised, that is less than the 10 s after which a server may signal.
 */
const GRACE_SECONDS = 4;

/** A heartbeat of a script's run is due after this much silence. */
const HEARTBEAT_SECONDS = 5;

/** Runs of one engine at a time: beyond some hundred, a second engine is faster than a fuller one. */
const SLOTS_DEFAULT = 256;

/** Growth of memory from which an engine is replaced: leaks of less do not matter before the engine has done its runs. */
const GROWTH_MB_DEFAULT = 256;

/** How long the other runs of an engine may go on once code of an ended run lingers. */
const DRAIN_SECONDS = 60;

/** An idle engine gives up after this long without a server (interface: Limits, engine idle give-up). */
const GIVE_UP_SECONDS = 30;

/**
 * A run is given up after this long without a server: as long as reports are retried (interface: Limits, engine idle give-up).
 */
const LOST_SECONDS = 600;

/** The times of an engine, unless set otherwise. */
export const DEFAULT_TIMES = {
  graceMs: GRACE_SECONDS * 1000,
  heartbeatMs: HEARTBEAT_SECONDS * 1000,
  lostMs: LOST_SECONDS * 1000,
};

export const USAGE =
  "usage: --source-dir DIR --module FILE [--engine-id ID] [--server URL] [--socket PATH] [--once] [--nice N] [--slots N] [--growth-mb N] [--grace SECONDS] [--drain SECONDS] [--lost SECONDS] [--give-up SECONDS] [--heap-mb N] [--otlp-endpoint URL] [--trace-sample-ratio N]";

/**
 * The engine's settings from its command line and environment
 * (MILLRACE_HOME, MILLRACE_SERVER, MILLRACE_SOCKET, MILLRACE_TOKEN, MILLRACE_ENGINE_ID, MILLRACE_ENGINE_SLOTS, MILLRACE_ENGINE_GROWTH_MB, MILLRACE_OTLP_ENDPOINT,
 * MILLRACE_TRACE_SAMPLE_RATIO).
 * @throws Error for an invalid command line
 */
export function parseSettings(argv: string[], env: NodeJS.ProcessEnv): EngineSettings {
  const { values } = parseArgs({
    args: argv,
    options: {
      "engine-id": { type: "string" },
      "source-dir": { type: "string" },
      module: { type: "string" },
      once: { type: "boolean" },
      nice: { type: "string" },
      server: { type: "string" },
      socket: { type: "string" },
      grace: { type: "string" },
      slots: { type: "string" },
      "growth-mb": { type: "string" },
      drain: { type: "string" },
      lost: { type: "string" },
      "give-up": { type: "string" },
      "heap-mb": { type: "string" },
      "otlp-endpoint": { type: "string" },
      "trace-sample-ratio": { type: "string" },
    },
  });
  const sourceDir = values["source-dir"];
  const { module } = values;
  if (sourceDir === undefined || module === undefined) throw new Error(USAGE);
  const home = env["MILLRACE_HOME"] || join(homedir(), ".millrace");
  const server = values.server ?? (env["MILLRACE_SERVER"] || null);
  const socket = values.socket ?? (env["MILLRACE_SOCKET"] || null);
  const token = env["MILLRACE_TOKEN"] || null;
  return {
    identity: {
      engineId: values["engine-id"] ?? (env["MILLRACE_ENGINE_ID"] || `engine-${process.pid}`),
      sourceDir: resolve(sourceDir),
      module,
      isolated: values.once ?? false,
      nice: values.nice === undefined ? 0 : numberOf("--nice", values.nice),
      host: hostIdentity(),
    },
    address: addressSource(server, socket, token, home),
    server: server !== null ? { url: server, token } : socket !== null ? { socket, token } : { home, token },
    home,
    heapMb: values["heap-mb"] === undefined ? null : numberOf("--heap-mb", values["heap-mb"]),
    graceMs: 1000 * (values.grace === undefined ? GRACE_SECONDS : numberOf("--grace", values.grace)),
    slotsMax: slotsOf(values.slots ?? (env["MILLRACE_ENGINE_SLOTS"] || String(SLOTS_DEFAULT))),
    growthMb: numberOf("--growth-mb", values["growth-mb"] ?? (env["MILLRACE_ENGINE_GROWTH_MB"] || String(GROWTH_MB_DEFAULT))),
    drainMs: 1000 * (values.drain === undefined ? DRAIN_SECONDS : numberOf("--drain", values.drain)),
    lostMs: 1000 * (values.lost === undefined ? LOST_SECONDS : numberOf("--lost", values.lost)),
    traces: tracesOf(
      values["otlp-endpoint"] ?? env["MILLRACE_OTLP_ENDPOINT"] ?? "",
      values["trace-sample-ratio"] ?? (env["MILLRACE_TRACE_SAMPLE_RATIO"] || "1"),
    ),
    giveUpMs: 1000 * (values["give-up"] === undefined ? GIVE_UP_SECONDS : numberOf("--give-up", values["give-up"])),
    complain: (text) => process.stderr.write(`millrace engine: ${text}\n`),
  };
}

/** The server's address: the given one, else the current one in the discovery file of the home directory. */
function addressSource(
  server: string | null,
  socketPath: string | null,
  token: string | null,
  home: string,
): () => ServerAddress {
  if (server !== null || socketPath !== null) {
    const address = { url: server ?? "http://localhost", socketPath: server === null ? socketPath : null, token };
    return () => address;
  }
  const path = join(home, "server.json");
  return () => {
    const { url } = JSON.parse(readFileSync(path, "utf8")) as { url: string };
    return { url, socketPath: null, token };
  };
}

function tracesOf(endpoint: string, ratio: string): TraceSettings | null {
  if (endpoint === "") return null;
  const protocol = URL.parse(endpoint)?.protocol;
  if (protocol !== "http:" && protocol !== "https:")
    throw new Error(`--otlp-endpoint takes the base URL of a collector, such as http://127.0.0.1:4318, not "${endpoint}"`);
  const sampleRatio = numberOf("--trace-sample-ratio", ratio);
  if (sampleRatio > 1) throw new Error(`--trace-sample-ratio takes a number from 0 to 1, not "${ratio}"`);
  return { endpoint, sampleRatio };
}

function slotsOf(text: string): number {
  const slots = numberOf("--slots", text);
  if (!Number.isInteger(slots) || slots < 1 || slots > ENGINE_SLOTS_MAX)
    throw new Error(`--slots takes a whole number from 1 to ${ENGINE_SLOTS_MAX}, not "${text}"`);
  return slots;
}

function numberOf(option: string, text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= 0) || !Number.isFinite(value))
    throw new Error(`${option} takes a number from 0 up, not "${text}"`);
  return value;
}

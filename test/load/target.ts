/** A server under test: started by the load generator, started for comparison, or already running. */
import type { LoadFlow } from "./engine-protocol.ts";
import { type Endpoint, HttpConnection } from "./http-connection.ts";
import type { TargetRecord } from "./report/summary.ts";

/** Large enough for pages of the list phase in few reads. */
const READ_BYTES = 65_536;

export interface Target {
  name: string;
  endpoint: Endpoint;
  /** The process whose CPU and memory are read; null if on another machine. */
  pid: number | null;
  /** The first process of a database server that has the store, whose CPU counts as that of the server. */
  storePid?: number;
  /** Milliseconds from starting the process to its first answer; null if it was already running. */
  startMs: number | null;
  version: string;
  durability: string;
  flow: LoadFlow;
  /** Why the park phase cannot run against this target, or null. */
  parkObstacle: string | null;
  /** Ends what was started and removes its files. */
  stop: () => Promise<void>;
}

/** What the report says about a target, under another name where two sides are measured on one server. */
export function targetRecord(target: Target, name = target.name): TargetRecord {
  return { name, version: target.version, durability: target.durability, start_ms: target.startMs };
}

export function parseEndpoint(url: string, token: string | null): Endpoint {
  const parsed = new URL(url);
  if (parsed.protocol !== "http:") throw new Error(`${url}: only http:// addresses can be measured`);
  return { host: parsed.hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(parsed.port || 80), token };
}

/** One GET on a separate connection. */
export async function getJson(endpoint: Endpoint, path: string): Promise<unknown> {
  const connection = new HttpConnection(endpoint, READ_BYTES);
  try {
    const answer = await connection.get(path);
    if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}: ${answer.body.slice(0, 200)}`);
    return JSON.parse(answer.body);
  } finally {
    connection.close();
  }
}

/** A field of an object of unknown type, or undefined. */
export function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** Joins a running server. Its process is read only if on this machine. */
export async function joinTarget(name: string, url: string, token: string | null, sourceDir: string): Promise<Target> {
  const endpoint = parseEndpoint(url, token);
  const server = await getJson(endpoint, "/api/server");
  const pid = field(server, "pid");
  const local = ["127.0.0.1", "localhost", "::1"].includes(endpoint.host);
  return {
    name,
    endpoint,
    pid: local && typeof pid === "number" ? pid : null,
    startMs: null,
    version: String(field(server, "version")),
    durability: "as that server is configured",
    flow: { project: "load", name: "bench", module: "bench_mod", source_dir: sourceDir },
    parkObstacle: null,
    stop: async () => undefined,
  };
}

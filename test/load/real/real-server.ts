/**
 * Starts `millrace serve` from the compiled package with its default settings, in a folder of its own that holds the flows of
 * the workloads. The server starts its engines itself.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { compiledProgram } from "../compiled-package.ts";
import type { Endpoint } from "../http-connection.ts";
import { startServer } from "../server-process.ts";
import { field, getJson } from "../target.ts";
import { RequestCounts } from "./request-counts.ts";
import { WORKLOADS, type WorkloadName } from "./workloads.ts";

const FLOWS = join(import.meta.dirname, "flows");
/** Uses durable runs, which earlier checkouts do not have. */
const DURABLE_MODULE = "children.ts";
const DURABLE_WORKLOADS: readonly WorkloadName[] = ["called", "children"];
const REGISTER_LIMIT_MS = 30_000;
const LOOK_EVERY_MS = 20;

export interface RealServer {
  name: string;
  version: string;
  durability: string;
  startMs: number;
  endpoint: Endpoint;
  pid: number;
  /** The checkout, and the folder with the flows. */
  tree: string;
  served: string;
  /** Ids of the flows by name. */
  flows: ReadonlyMap<string, number>;
  /** Requests of all engines so far; null if they are not counted. */
  engineRequests: (() => number) | null;
  stop(): Promise<void>;
}

/**
 * @param tree a checkout of this repository that was built
 * @param settings further options of `serve`
 * @param counted count the requests of the engines
 * @param workloads what the server is needed for: the durable flows are served only for their own workloads
 * @param config the text of its millrace.toml
 */
export async function startRealServer(
  name: string,
  tree: string,
  settings: readonly string[],
  counted = false,
  workloads: readonly WorkloadName[] = WORKLOADS,
  config = "",
): Promise<RealServer> {
  const program = compiledProgram(tree);
  const scratch = mkdtempSync(join(tmpdir(), "millrace-load-real-"));
  const served = join(scratch, "flows");
  const home = join(scratch, "home");
  cpSync(FLOWS, served, { recursive: true });
  if (!DURABLE_WORKLOADS.some((name) => workloads.includes(name))) rmSync(join(served, DURABLE_MODULE));
  writeFileSync(join(served, "millrace.toml"), config);
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(join(served, "node_modules"));
  symlinkSync(tree, join(served, "node_modules", "millrace"));
  const counts = counted ? new RequestCounts(join(scratch, "requests")) : null;
  const remove = () => rmSync(scratch, { recursive: true, force: true });
  try {
    const server = await startServer({
      program: process.execPath,
      args: [program, "serve", served, "--home", home, "--port", "0", "--no-open", ...settings],
      cwd: served,
      home,
      token: null,
      settingsPrefix: "MILLRACE_",
      ...(counts === null ? {} : { environment: counts.environment }),
    });
    const stop = async () => {
      await server.stop();
      remove();
    };
    try {
      const flows = await registeredFlows(server.endpoint, workloads);
      const info = await getJson(server.endpoint, "/api/server");
      const version = String(field(info, "version"));
      return {
        name,
        version,
        durability: durabilityOf(settings),
        startMs: server.startMs,
        endpoint: server.endpoint,
        pid: server.pid,
        tree,
        served,
        flows,
        engineRequests: counts === null ? null : () => counts.total(),
        stop,
      };
    } catch (error) {
      await stop();
      throw error;
    }
  } catch (error) {
    remove();
    throw error;
  }
}

function durabilityOf(settings: readonly string[]): string {
  const at = settings.indexOf("--durability");
  return at === -1 ? "normal" : (settings[at + 1] ?? "normal");
}

async function registeredFlows(endpoint: Endpoint, names: readonly string[]): Promise<Map<string, number>> {
  const begun = performance.now();
  for (;;) {
    const answer = await getJson(endpoint, "/api/flows");
    const listed = Array.isArray(answer) ? (answer as unknown[]) : [];
    const flows = new Map(listed.map((flow) => [String(field(flow, "name")), Number(field(flow, "id"))]));
    if (names.every((name) => flows.has(name))) return flows;
    if (performance.now() - begun > REGISTER_LIMIT_MS) throw new Error("the server did not find the flows in time");
    await sleep(LOOK_EVERY_MS);
  }
}

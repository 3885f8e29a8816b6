/** Starts this repository's server on a free loopback port with a new store. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { compiledProgram } from "./compiled-package.ts";
import type { Durability } from "./options.ts";
import { seedStore } from "./seed-store.ts";
import { startServer } from "./server-process.ts";
import { field, getJson, type Target } from "./target.ts";

export const ROOT = resolve(import.meta.dirname, "../..");
/** Above the maximum of the park phase, so that no engine is sent away. */
const EXTERNAL_ENGINES_MAX = 50_000;
/** Above any number of simulated engines. */
const POOL_MAX = "5000";
/** Simulated engines need no replacement. */
const ENGINE_MAX_RUNS = "100000000";

export interface OwnServerOptions {
  /** If given, kept after the end, so that a store with many runs can be reused. */
  home: string | null;
  durability: Durability;
  token: string | null;
  /** The compiled package instead of the sources. */
  compiled?: boolean;
  /** URL of the database of the store; null for a file. */
  store?: string | null;
}

/**
 * @param stored ended runs that are written into a new store before the start
 * @param tree a checkout of this repository with its dependencies installed
 */
export async function startOwnServer(
  options: OwnServerOptions,
  stored = { runs: 0, seed: 1 },
  tree: string = ROOT,
): Promise<Target> {
  const scratch = mkdtempSync(join(tmpdir(), "millrace-load-"));
  const served = join(scratch, "flows");
  const home = options.home === null ? join(scratch, "home") : resolve(options.home);
  mkdirSync(served);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeFileSync(join(served, "millrace.toml"), `[server]\nmax_external_engines = ${EXTERNAL_ENGINES_MAX}\n`);
  const remove = () => rmSync(scratch, { recursive: true, force: true });
  try {
    if (stored.runs > 0) seedStore(home, stored.runs, stored.seed);
    const server = await startServer({
      program: process.execPath,
      args: [
        ...programOf(tree, options.compiled === true),
        ...["serve", served, "--home", home, "--port", "0"],
        ...[
          "--no-engines",
          "--max-engines",
          POOL_MAX,
          "--engine-max-runs",
          ENGINE_MAX_RUNS,
          "--no-open",
          "--durability",
          options.durability,
        ],
        ...(options.token === null ? [] : ["--token", options.token]),
        ...(options.store == null ? [] : ["--store", options.store]),
      ],
      cwd: tree,
      home,
      token: options.token,
      settingsPrefix: "MILLRACE_",
    });
    return {
      name: tree === ROOT ? "millrace" : "tree",
      endpoint: server.endpoint,
      pid: server.pid,
      startMs: server.startMs,
      version: String(field(await getJson(server.endpoint, "/api/server"), "version")),
      durability: options.durability,
      flow: { project: "load", name: "bench", module: "bench_mod", source_dir: served },
      parkObstacle: null,
      stop: async () => {
        await server.stop();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Arguments of Node that start the command line of a checkout. */
export function programOf(tree: string, compiled: boolean): readonly string[] {
  if (!compiled) return ["--conditions=millrace-src", join(tree, "cli/main.ts")];
  return [compiledProgram(tree)];
}

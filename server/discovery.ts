/**
 * Finds flow files under the served directory and learns their flows by importing them in a child process, so that
 * a file that fails, hangs or ends its process does no harm here: it is reported, the others are served.
 */

import { type ChildProcess, fork } from "node:child_process";
import { opendir, readFile } from "node:fs/promises";
import { extname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { FlowRegistration, LoadedModule, ModuleRequest } from "./discovery-child.ts";

export type { FlowRegistration } from "./discovery-child.ts";

/** A module that could not be used. */
export interface ModuleError {
  /** Path below source_dir, with forward slashes. */
  module: string;
  source_dir: string;
  error: string;
}

export interface Discovery {
  flows: FlowRegistration[];
  errors: ModuleError[];
  /** One line each: limits that were met, so that not everything was looked at. */
  warnings: string[];
}

export interface DiscoveryLimits {
  /** Time one module has for its import, in ms. */
  importMs: number;
  /** Directory levels below the served one. */
  depthMax: number;
  /** Files looked at. */
  filesMax: number;
}

const DEFAULT_LIMITS: DiscoveryLimits = {
  // An import that connects to something is slow; one that takes longer than this waits for ever.
  importMs: 10_000,
  // A project nests less; a link or a data directory nests more.
  depthMax: 8,
  // Reading this many takes about a second; more is not a directory of flows.
  filesMax: 5_000,
};

const SUFFIXES = new Set([".ts", ".mts", ".js", ".mjs"]);
const NOT_A_MODULE = /\.(d|test|spec)\.m?[tj]s$/;
/** Heap of the child in MB: user code that eats memory ends there, not here. */
const CHILD_HEAP_MB = 1_024;
/** How much of what the module printed is kept for its error. */
const PRINTED_MAX = 4_000;

/**
 * Looks through a directory. Files are imported in the order of their paths; one that defines no flow is passed over.
 * Only files whose text mentions `millrace` are imported, so that other scripts lying there are not run.
 */
export async function discoverFlows(
  dir: string,
  env: NodeJS.ProcessEnv = process.env,
  limits: DiscoveryLimits = DEFAULT_LIMITS,
): Promise<Discovery> {
  const sourceDir = resolve(dir);
  const found: Discovery = { flows: [], errors: [], warnings: [] };
  const modules = await flowFiles(sourceDir, limits, found.warnings);
  let next = 0;
  while (next < modules.length) next += await importSome(sourceDir, modules.slice(next), env, limits.importMs, found);
  return found;
}

/** Paths below the directory, sorted, with forward slashes. */
async function flowFiles(root: string, limits: DiscoveryLimits, warnings: string[]): Promise<string[]> {
  const modules: string[] = [];
  const open = [{ path: root, depth: 0 }];
  let files = 0;
  for (let place = open.shift(); place !== undefined; place = open.shift()) {
    const entries = await opendir(place.path);
    for await (const entry of entries) {
      const path = join(place.path, entry.name);
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      if (entry.isDirectory()) {
        if (place.depth < limits.depthMax) open.push({ path, depth: place.depth + 1 });
        else warnings.push(`${path} is deeper than ${limits.depthMax} below ${root}: not looked into`);
      } else if (entry.isFile() && SUFFIXES.has(extname(entry.name)) && !NOT_A_MODULE.test(entry.name)) {
        files += 1;
        if (files > limits.filesMax) {
          warnings.push(
            `${root} holds more than ${limits.filesMax} modules: the rest is not looked at, serve a smaller directory`,
          );
          return modules.sort();
        }
        if ((await readFile(path, "utf8").catch(() => "")).includes("millrace"))
          modules.push(relative(root, path).split(sep).join("/"));
      }
    }
  }
  return modules.sort();
}

/** Imports modules one after the other in one child, until it is through or one has broken it. Gives how many are done. */
async function importSome(
  dir: string,
  modules: string[],
  env: NodeJS.ProcessEnv,
  importMs: number,
  found: Discovery,
): Promise<number> {
  const child = startChild(env);
  const printed = keepTail(child);
  try {
    for (const [index, module] of modules.entries()) {
      const loaded = await importOne(child, { sourceDir: dir, module }, importMs);
      if (typeof loaded === "string") {
        const tail = printed().trim();
        found.errors.push({ module, source_dir: dir, error: tail === "" ? loaded : `${loaded}\n${tail}` });
        return index + 1;
      }
      if (loaded.error !== null) found.errors.push({ module, source_dir: dir, error: loaded.error });
      for (const flow of loaded.flows) addFlow(flow, found);
    }
    return modules.length;
  } finally {
    child.kill("SIGKILL");
  }
}

/** A flow is known by project and name; the first module that exports it has it. */
function addFlow(flow: FlowRegistration, found: Discovery): void {
  const earlier = found.flows.find((known) => known.flow === flow.flow && known.project === flow.project);
  if (earlier === undefined) found.flows.push(flow);
  else {
    const { module, source_dir } = flow;
    found.errors.push({
      module,
      source_dir,
      error: `flow "${flow.project}/${flow.flow}" is already exported by ${earlier.module}`,
    });
  }
}

function startChild(env: NodeJS.ProcessEnv): ChildProcess {
  // The child has the same form as this file: TypeScript in a clone, JavaScript in the package.
  const child = fileURLToPath(new URL(`./discovery-child${extname(import.meta.filename)}`, import.meta.url));
  return fork(child, [], {
    env,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    execArgv: [...process.execArgv, `--max-old-space-size=${CHILD_HEAP_MB}`],
  });
}

/** What a module defines, or why the child cannot go on. */
function importOne(child: ChildProcess, request: ModuleRequest, importMs: number): Promise<LoadedModule | string> {
  return new Promise((resolve) => {
    const settle = (outcome: LoadedModule | string) => {
      clearTimeout(timer);
      child.removeAllListeners("message").removeAllListeners("close").removeAllListeners("error");
      resolve(outcome);
    };
    const timer = setTimeout(() => settle(`importing it took longer than ${importMs / 1000} s`), importMs);
    child.on("message", (message) => settle(message as LoadedModule));
    child.on("error", (error) => settle(`it could not be imported: ${error.message}`));
    child.on("close", (code, signal) =>
      settle(
        signal === null ? `it ended the process with code ${code} while it was imported` : `its import was ended by ${signal}`,
      ),
    );
    child.send(request, (error) => {
      // A child that has ended already reports that by closing, with its code.
      if (error !== null && child.exitCode === null && child.signalCode === null && !("code" in error)) settle(error.message);
    });
  });
}

/** Collects the end of what the child prints: it belongs to a failure, not to our own output. */
function keepTail(child: ChildProcess): () => string {
  let tail = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      tail = (tail + text).slice(-PRINTED_MAX);
    });
  }
  return () => tail;
}

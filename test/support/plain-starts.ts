/**
 * Loaded before the test runner's own modules (test-env in .taprc). The runner loads hooks into every thread and child process
 * of a test, for coverage and replaced modules: both are unused here, and a start takes several times longer. So test files
 * run without these hooks, and their threads and child processes start as they do for users.
 */
import { ChildProcess } from "node:child_process";
import module, { syncBuiltinESMExports } from "node:module";
import workerThreads, { isMainThread, type WorkerOptions } from "node:worker_threads";

/** The options in NODE_OPTIONS, which may be quoted. */
const OPTION = /"(?:\\.|[^"\\])*"|\S+/g;
/** Options that load modules of the runner, or this one. */
const LOADING = /^"?--import=.*(?:@tapjs\/|plain-starts\.ts"?$)/;
const OWN_OPTIONS = process.execArgv.filter((option) => option.startsWith("--conditions"));

interface SpawnOptions {
  /** The environment of the child as `name=value`. */
  envPairs: string[];
}

function runWithoutHooks(): void {
  Object.assign(module, { register: () => undefined });
}

/** The runner adds its options to NODE_OPTIONS before it calls this method. */
function startProcessesPlainly(): void {
  const prototype = ChildProcess.prototype as unknown as { spawn(options: SpawnOptions): number };
  const { spawn } = prototype;
  prototype.spawn = function spawnPlainly(options) {
    const envPairs = options.envPairs.map((pair) => (pair.startsWith("NODE_OPTIONS=") ? withoutLoading(pair) : pair));
    return spawn.call(this, { ...options, envPairs });
  };
}

function withoutLoading(pair: string): string {
  const options = pair.slice("NODE_OPTIONS=".length).match(OPTION) ?? [];
  return `NODE_OPTIONS=${options.filter((option) => !LOADING.test(option)).join(" ")}`;
}

function startThreadsPlainly(): void {
  const { Worker } = workerThreads;
  class PlainWorker extends Worker {
    constructor(file: string | URL, options: WorkerOptions = {}) {
      super(file, { ...options, execArgv: options.execArgv ?? OWN_OPTIONS });
    }
  }
  Object.assign(workerThreads, { Worker: PlainWorker });
}

if (isMainThread) {
  runWithoutHooks();
  startProcessesPlainly();
  startThreadsPlainly();
  syncBuiltinESMExports();
}

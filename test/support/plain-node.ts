/** Node without what the test runner loads into every process below it, which makes a start several times slower. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";

/** The runner adds its loaders to NODE_OPTIONS whatever the environment says; env takes them out and becomes Node itself. */
export function spawnNode(args: readonly string[], options: SpawnOptions): ChildProcess {
  return spawn("env", ["-u", "NODE_OPTIONS", process.execPath, ...args], options);
}

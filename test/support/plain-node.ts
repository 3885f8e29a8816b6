/** Node without the loaders that the test runner adds to every child process, which make a start several times slower. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";

/** The runner adds its loaders to NODE_OPTIONS regardless of the environment; `env` removes them and then executes Node. */
export function spawnNode(args: readonly string[], options: SpawnOptions): ChildProcess {
  return spawn("env", ["-u", "NODE_OPTIONS", process.execPath, ...args], options);
}

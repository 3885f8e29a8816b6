/**
 * Entry of the engine process, its control thread. Exit codes: 0 ordered to exit, 1 module or server missing, 2 usage.
 */
import { setPriority } from "node:os";
import { setFlagsFromString } from "node:v8";
import { Engine } from "./engine.ts";
import { parseSettings } from "./settings.ts";

const CONTROL_THREAD_ONLY = "--max-semi-space-size=8";

try {
  // Threads created from here on have V8's own limit.
  if (process.execArgv.includes(CONTROL_THREAD_ONLY)) setFlagsFromString("--max-semi-space-size=0");
  const settings = parseSettings(process.argv.slice(2), process.env);
  if (settings.identity.nice > 0) lowerPriority(settings.identity.nice);
  const engine = new Engine(settings);
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => engine.stop());
  process.exit(await engine.run());
} catch (error) {
  process.stderr.write(`millrace engine: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
}

function lowerPriority(nice: number): void {
  try {
    setPriority(nice);
  } catch (error) {
    process.stderr.write(`millrace engine: the priority stays as it is: ${String(error)}\n`);
  }
}

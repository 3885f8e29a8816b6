/** `millrace engine`: hands its arguments to the engine process's own entry file. */

import { fileURLToPath } from "node:url";
import { EXIT } from "./exit-code.ts";

export async function startEngine(args: readonly string[]): Promise<number> {
  const main = import.meta.resolve("#sdk/engine/main");
  process.argv = [process.argv[0] ?? "node", fileURLToPath(main), ...args];
  await import(main);
  return EXIT.ok;
}

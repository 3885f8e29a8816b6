/** `millrace engine`: passes its arguments to the entry file of the engine process. */

import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { EXIT } from "../exit-code.ts";

export async function startEngine(args: readonly string[]): Promise<number> {
  const main = new URL(`../../sdk/engine/main${extname(import.meta.filename)}`, import.meta.url);
  process.argv = [process.argv[0] ?? "node", fileURLToPath(main), ...args];
  await import(main.href);
  return EXIT.ok;
}

/** The compiled package in dist/, as users run it: it starts several times faster than the sources. */
import { join } from "node:path";
import { BUILT, ensureBuilt } from "../../scripts/built.ts";

let isChecked = false;

/** Path of a compiled module, given its source path without the ending. Compiles where the sources have changed. */
export function builtPath(module: string): string {
  if (!isChecked) ensureBuilt();
  isChecked = true;
  return join(BUILT, `${module}.js`);
}

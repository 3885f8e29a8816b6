/** The compiled package of a checkout of this repository. */
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Its command line. */
export function compiledProgram(tree: string): string {
  return compiledFile(tree, "dist/cli/main.js");
}

/** The program of its engines. */
export function compiledEngine(tree: string): string {
  return compiledFile(tree, "dist/sdk/engine/main.js");
}

function compiledFile(tree: string, path: string): string {
  const program = join(tree, path);
  if (!existsSync(program)) throw new Error(`${program} is missing: run npm run build there first`);
  return program;
}

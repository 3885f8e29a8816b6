/** The acceptance of execution: what a user of the installed package gets from several runs in one engine. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { Check } from "./check.ts";
import { alwaysExhausts, killedOnce, neverTwice, oneAtFault } from "./faults.ts";
import { Outside } from "./outside.ts";
import { interleave } from "./scopes.ts";
import { ServedFolder, type ServeOptions } from "./served-folder.ts";
import type { Sizes } from "./sizes.ts";
import { computeBesideWaiting, manyWait, spreadComputing } from "./waiting.ts";

const FLOWS = join(import.meta.dirname, "flows");
/** Small, so that a heap is soon full. */
const HEAP_MB = 128;

type Scenario = (served: ServedFolder, outside: Outside, sizes: Sizes, check: Check) => Promise<void>;

const SHARING: readonly Scenario[] = [manyWait, spreadComputing, computeBesideWaiting, interleave];
const CRASHING: readonly Scenario[] = [oneAtFault, neverTwice, killedOnce, alwaysExhausts];

/**
 * @param folder a folder with the package in `node_modules/`
 * @param only part of the name of a scenario; empty for all
 * @returns what is not as it should be
 */
export async function acceptExecution(folder: string, sizes: Sizes, only = ""): Promise<string[]> {
  cpSync(FLOWS, join(folder, "flows"), { recursive: true });
  const outside = new Outside();
  await outside.start();
  const check = new Check();
  try {
    await playAll(folder, SHARING, {}, { outside, sizes, only, check });
    await playAll(folder, CRASHING, { settings: sizes.crashing, heapMb: HEAP_MB }, { outside, sizes, only, check });
  } finally {
    outside.stop();
  }
  return check.failures;
}

interface Stage {
  outside: Outside;
  sizes: Sizes;
  only: string;
  check: Check;
}

async function playAll(
  folder: string,
  scenarios: readonly Scenario[],
  options: ServeOptions,
  { outside, sizes, only, check }: Stage,
): Promise<void> {
  const played = scenarios.filter(({ name }) => name.includes(only));
  if (played.length === 0) return;
  const served = await ServedFolder.start(folder, options);
  try {
    for (const scenario of played) {
      process.stdout.write(`${scenario.name}\n`);
      await scenario(served, outside, sizes, check);
    }
  } finally {
    await served.stop();
  }
}

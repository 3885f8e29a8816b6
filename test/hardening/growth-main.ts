/** `node --conditions=millrace-src test/hardening/growth-main.ts`: the growth table, a part of `npm run test:hardening`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Filled, measureGrowth, type Start, WHOLE } from "./growth.ts";

/** Relative to the start of the empty home, in CPU time of all threads. */
const FULL_START_MAX = 2;

function line({ what, reached, beyond, holds, seconds, memoryMb }: Filled): string {
  return `${holds ? "ok    " : "FAILED"}  ${what.padEnd(34)} ${reached.padEnd(34)} ${seconds.toFixed(0).padStart(4)} s ${String(memoryMb).padStart(5)} MB  ${beyond}`;
}

function shown({ seconds, cpuSeconds, memoryMb }: Start): string {
  return `${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of processor time, ${memoryMb} MB`;
}

/** Prints the table; returns the number of failed rows. */
export async function printGrowth(heapMb = WHOLE.heapMb): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-growth-"));
  try {
    console.log(`growth, with a heap of ${heapMb} MB`);
    const size = { ...WHOLE, heapMb };
    const { rows, empty, full, answers } = await measureGrowth(size, join(folder, "home"), (row) => console.log(line(row)));
    console.log(`start of the empty home:  ${shown(empty)}`);
    console.log(`start of the filled home: ${shown(full)}; it answers ${answers.join(", ")}`);
    const ratio = full.seconds / empty.seconds;
    const isQuick = ratio <= FULL_START_MAX;
    console.log(
      `${isQuick ? "ok    " : "FAILED"}  the filled home starts in ${ratio.toFixed(1)} times the time of the empty one`,
    );
    return rows.filter(({ holds }) => !holds).length + (isQuick && answers.join() === "503,200" ? 0 : 1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename)
  process.exitCode = (await printGrowth(Number(process.argv[2] ?? WHOLE.heapMb))) === 0 ? 0 : 1;

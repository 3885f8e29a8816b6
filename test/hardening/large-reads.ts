/** `npm run test:hardening -- reads`: reads of a store as large as the limits allow, and clients that do not read. */
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startHardenedServer } from "./hardened-server.ts";
import { writeBombs } from "./read-bombs.ts";
import { emitEvents, measureReads, measureSilent } from "./read-stalls.ts";
import { StallProbe } from "./stall-probe.ts";

const MIB = 2 ** 20;
const SIZES = { tasks: 100_000, parents: 30, artifacts: 450, records: 100, lines: 400 };

/** Prints the cost of each read; returns the number of failures. */
export async function readLargeRecords(heldMsMax: number): Promise<number> {
  const home = join(tmpdir(), `millrace-reads-${process.pid}`);
  writeBombs(home, SIZES);
  const server = await startHardenedServer([], home);
  const probe = await StallProbe.start(`${server.url}/api/health`);
  let failed = 0;
  const show = (name: string, heldMs: number, machineMs: number, isRight: boolean, rest: string) => {
    const passed = isRight && heldMs - machineMs <= heldMsMax;
    if (!passed) failed += 1;
    const times = `${heldMs.toFixed(0).padStart(7)}  ${machineMs.toFixed(0).padStart(10)}`;
    console.log(`${times}  ${passed ? "  " : "! "}${name}: ${rest}`);
  };
  try {
    console.log("held ms  machine ms");
    for await (const { request, answer, answerMs, heldMs, machineMs } of measureReads(server.url, probe, 2)) {
      if (server.ended() !== null) throw new Error(`the server ended (${server.ended()}) at ${request.name}\n${server.output()}`);
      const { status, bytes } = answer;
      const isRight = status < 500 && (!request.bounded || bytes < 20 * MIB);
      show(request.name, heldMs, machineMs, isRight, `${status}, ${(bytes / MIB).toFixed(1)} MiB in ${answerMs.toFixed(0)} ms`);
    }
    for (const silent of [
      { path: "/api/runs?limit=100", count: 40 },
      { path: "/api/runs/1/artifacts", count: 400 },
      { path: "/api/stream", count: 2_000, during: () => emitEvents(server.url, 60, 200_000) },
    ]) {
      const { heldMs, machineMs, grownBytes } = await measureSilent(server, probe, silent);
      const grown = `${(grownBytes / MIB).toFixed(0)} MiB more`;
      show(`${silent.count} clients of ${silent.path} that do not read`, heldMs, machineMs, grownBytes < 600 * MIB, grown);
    }
  } finally {
    await probe.stop();
    await server.stop();
    rmSync(home, { recursive: true, force: true });
  }
  return failed;
}

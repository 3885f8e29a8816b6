/**
 * A small form of `npm run test:hardening -- reads`: large records are read in bounded memory, without delaying other
 * clients.
 */
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { startHardenedServer } from "./hardened-server.ts";
import { writeBombs } from "./read-bombs.ts";
import { emitEvents, measureReads, measureSilent } from "./read-stalls.ts";
import { StallProbe } from "./stall-probe.ts";

const MIB = 1024 * 1024;
/** Ten times what a read may take; the margin is for other load on the machine. */
const HELD_MS_MAX = 2_500;
/** Pages end at 16 MiB plus one record; tool results are written twice. */
const BOUNDED_BYTES_MAX = 20 * MIB;
/** Whole answers to all clients would take several times as much. */
const GROWN_BYTES_MAX = 400 * MIB;
const CLIENTS = 40;
const STREAMS = 300;

t.test("large records are read in bounded memory, and delay no other client", async (t) => {
  const home = join(tmpdir(), `millrace-bombs-${process.pid}`);
  t.teardown(() => rmSync(home, { recursive: true, force: true }));
  writeBombs(home, { tasks: 10_000, parents: 20, artifacts: 50, records: 50, lines: 80 });
  const server = await startHardenedServer([], home);
  t.teardown(() => server.stop());
  const probe = await StallProbe.start(`${server.url}/api/health`);
  t.teardown(() => probe.stop());
  let reads = 0;
  for await (const { request, answer, heldMs, machineMs } of measureReads(server.url, probe, 1)) {
    reads += 1;
    const { status, bytes, isWhole } = answer;
    if (server.ended() !== null) throw new Error(`the server ended (${server.ended()}) at ${request.name}\n${server.output()}`);
    t.ok(status < 500 && isWhole, `${request.name}: ${status}, ${bytes} bytes`);
    if (request.bounded) t.ok(bytes < BOUNDED_BYTES_MAX, `${request.name}: ${bytes} bytes`);
    t.ok(
      heldMs - machineMs < HELD_MS_MAX,
      `${request.name}: held for ${Math.round(heldMs)} ms, the machine for ${Math.round(machineMs)} ms`,
    );
  }
  t.ok(reads > 40, `${reads} reads`);
  for (const silent of [
    { path: "/api/runs?limit=100", count: CLIENTS },
    { path: "/api/runs/1/artifacts", count: CLIENTS },
    { path: "/api/stream", count: STREAMS, during: () => emitEvents(server.url, 30, 200_000) },
  ]) {
    const { heldMs, machineMs, grownBytes } = await measureSilent(server, probe, silent);
    const name = `${silent.count} clients of ${silent.path} that do not read`;
    t.ok(
      heldMs - machineMs < HELD_MS_MAX,
      `${name}: held for ${Math.round(heldMs)} ms, the machine for ${Math.round(machineMs)} ms`,
    );
    t.ok(grownBytes < GROWN_BYTES_MAX, `${name}: ${Math.round(grownBytes / MIB)} MiB more`);
  }
  t.equal(server.ended(), null);
});

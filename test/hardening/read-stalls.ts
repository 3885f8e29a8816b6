/** The delay that reads of large records cause for other clients. */
import { setTimeout as pause } from "node:timers/promises";
import { readUsage } from "../load/process-usage.ts";
import type { HardenedServer } from "./hardened-server.ts";
import { type ReadRequest, readAll, readRequests } from "./read-bombs.ts";
import { SilentReaders } from "./silent-readers.ts";
import type { StallProbe } from "./stall-probe.ts";

export interface MeasuredRead {
  request: ReadRequest;
  answer: Awaited<ReturnType<typeof readAll>>;
  answerMs: number;
  /** Slowest answer to GET /api/health during the reads. */
  heldMs: number;
  /** Slowest answer of an idle server at the same time. */
  machineMs: number;
}

/** Runs each read this many times in a row. */
export async function* measureReads(url: string, probe: StallProbe, times: number): AsyncGenerator<MeasuredRead> {
  for (const request of readRequests()) {
    for (let time = 0; time < times; time += 1) {
      await probe.take();
      const begin = performance.now();
      const answer = await readAll(url, request);
      const answerMs = performance.now() - begin;
      const { server, machine } = await probe.take();
      yield { request, answer, answerMs, heldMs: server, machineMs: machine };
    }
  }
}

/**
 * How long silent clients are watched: enough for the first parts of answers; the library cuts clients that read nothing
 * after 10 s.
 */
const SILENT_MS = 3_000;
const LOOK_MS = 50;

/** Clients that request the path and never read; `during` runs once they have sent the request. */
export async function measureSilent(
  { url, pid }: HardenedServer,
  probe: StallProbe,
  { path, count, during }: { path: string; count: number; during?: () => Promise<void> },
) {
  const resident = () => readUsage(pid)?.residentBytes ?? 0;
  const before = resident();
  let most = before;
  await probe.take();
  const readers = await SilentReaders.ask(url, path, count);
  const done = during?.();
  const end = performance.now() + SILENT_MS;
  while (performance.now() < end) {
    most = Math.max(most, resident());
    await pause(LOOK_MS);
  }
  await done;
  const { server, machine } = await probe.take();
  readers.leave();
  return { heldMs: server, machineMs: machine, grownBytes: most - before };
}

/** Sends events with payloads of this size, in sequence. */
export async function emitEvents(url: string, count: number, bytes: number): Promise<void> {
  const body = JSON.stringify({ name: "large", payload: { text: "x".repeat(bytes) } });
  for (let index = 0; index < count; index += 1) {
    const answer = await fetch(`${url}/api/events`, { method: "POST", headers: { "content-type": "application/json" }, body });
    if (answer.status !== 201) throw new Error(`an event was answered ${answer.status} ${await answer.text()}`);
    await answer.body?.cancel();
  }
}

/** What reads of large records cost everybody else. */
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
  /** Longest answer to GET /api/health meanwhile. */
  heldMs: number;
  /** Longest answer of a server that does nothing, at the same time. */
  machineMs: number;
}

/** Each read so often in a row. */
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

/** How long silent clients are watched: the first parts are made by then, and the library cuts those that take nothing after 10 s. */
const SILENT_MS = 3_000;
const LOOK_MS = 50;

/** Clients that ask for the path and never read; `during` is done once they have asked. */
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

/** Events with a payload of so many bytes, one after the other. */
export async function emitEvents(url: string, count: number, bytes: number): Promise<void> {
  const body = JSON.stringify({ name: "large", payload: { text: "x".repeat(bytes) } });
  for (let index = 0; index < count; index += 1) {
    const answer = await fetch(`${url}/api/events`, { method: "POST", headers: { "content-type": "application/json" }, body });
    if (answer.status !== 201) throw new Error(`an event was answered ${answer.status} ${await answer.text()}`);
    await answer.body?.cancel();
  }
}

/**
 * A server under ten times the load it can handle, with small and with large bodies: accepted requests are answered soon, the
 * rest is refused at once, health stays fast, and afterwards everything is as before.
 * `node --conditions=millrace-src test/hardening/overload.ts` prints the figures.
 */
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { type HardenedServer, startHardenedServer } from "./hardened-server.ts";
import { type Answer, type Load, overload } from "./overload-clients.ts";
import { StallProbe } from "./stall-probe.ts";

/** Interval of the memory checks after the load. */
const LOOK_EVERY_MS = 500;
const SAMPLE_MS = 50;

export interface OverloadFigures {
  accepted: number;
  acceptedPerSecond: number;
  acceptedP50Ms: number;
  acceptedP99Ms: number;
  /** By status; 0 stands for cut connections. */
  others: Readonly<Record<number, number>>;
  refusedP99Ms: number;
  /** Answers 503 without Retry-After. */
  withoutRetryAfter: number;
  healthMs: number;
  /** The machine's own delay of health at that time. */
  machineMs: number;
  /** From the end of the load to the first create answered as fast as before. */
  recoveredMs: number;
  residentBeforeMb: number;
  residentPeakMb: number;
  /** Memory growth left after 60 s at most, and when it had fallen to a quarter; null: it did not. */
  residentLeftMb: number;
  givenBackMs: number | null;
}

export type Scenario = Omit<Load, "url">;

export async function measureOverload(server: HardenedServer, scenario: Scenario, lookMs: number): Promise<OverloadFigures> {
  const { url, pid } = server;
  const probe = await StallProbe.start(`${url}/api/health`);
  const residentBeforeMb = residentMb(pid);
  let residentPeakMb = residentBeforeMb;
  const sampling = setInterval(() => {
    residentPeakMb = Math.max(residentPeakMb, residentMb(pid));
  }, SAMPLE_MS);
  const usualMs = await createMs(url);
  await probe.take();
  const answers = await overload({ ...scenario, url });
  const endMs = performance.now();
  const { server: healthMs, machine: machineMs } = await probe.take();
  await probe.stop();
  while ((await createMs(url)) > Math.max(usualMs * 2, 50)) if (performance.now() - endMs > 60_000) break;
  const recoveredMs = performance.now() - endMs;
  clearInterval(sampling);
  const bound = residentBeforeMb + (residentPeakMb - residentBeforeMb) / 4;
  let givenBackMs: number | null = null;
  while (performance.now() - endMs < lookMs && givenBackMs === null) {
    if (residentMb(pid) <= bound) givenBackMs = performance.now() - endMs;
    else await pause(LOOK_EVERY_MS);
  }
  const residentLeftMb = residentMb(pid) - residentBeforeMb;
  return {
    ...summed(answers, scenario.forMs),
    healthMs,
    machineMs,
    recoveredMs,
    residentBeforeMb,
    residentPeakMb,
    residentLeftMb,
    givenBackMs,
  };
}

function summed(answers: readonly Answer[], forMs: number) {
  const accepted = answers.filter(({ status }) => status === 201 || status === 200).map(({ tookMs }) => tookMs);
  const refused = answers.filter(({ status }) => status === 503);
  const others: Record<number, number> = {};
  for (const { status } of answers) if (status !== 201 && status !== 200) others[status] = (others[status] ?? 0) + 1;
  return {
    accepted: accepted.length,
    acceptedPerSecond: (accepted.length / forMs) * 1000,
    acceptedP50Ms: quantile(accepted, 0.5),
    acceptedP99Ms: quantile(accepted, 0.99),
    others,
    refusedP99Ms: quantile(
      refused.map(({ tookMs }) => tookMs),
      0.99,
    ),
    withoutRetryAfter: refused.filter(({ retryAfter }) => !retryAfter).length,
  };
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

async function createMs(url: string): Promise<number> {
  const beginMs = performance.now();
  const answer = await fetch(`${url}/api/runs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ flow: "flow", project: "project", module: "flow.ts", source_dir: "/nowhere" }),
  });
  await answer.text();
  return answer.status === 201 ? performance.now() - beginMs : Number.POSITIVE_INFINITY;
}

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
}

/** Ten times what two cores can handle: about 60 large and 20,000 small creates a second. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  "large bodies, pauses": { connections: 300, path: "/api/runs", bytes: 900_000, pauseMs: 500, forMs: 15_000 },
  "large bodies, no pause": { connections: 300, path: "/api/runs", bytes: 900_000, pauseMs: 0, forMs: 15_000 },
  "small bodies": { connections: 4_000, path: "/api/runs", bytes: 10, pauseMs: 500, forMs: 15_000 },
  "large transitions": { connections: 300, path: "/api/runs/1/transition", bytes: 900_000, pauseMs: 500, forMs: 5_000 },
};

if (import.meta.main) {
  const only = process.argv[2] ?? "";
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    if (!name.includes(only)) continue;
    const server = await startHardenedServer();
    try {
      console.log(name, await measureOverload(server, scenario, Number(process.argv[3] ?? 60_000)));
      if (server.ended() !== null) console.log(`the server ended (${server.ended()})\n${server.output().slice(-2_000)}`);
    } finally {
      await server.stop();
    }
  }
}

/**
 * Whether a server stays as it is: real engines execute runs at half of the capacity for a long time.
 *
 *   npm run build && node --conditions=millrace-src test/load/soak.ts [--minutes 30] [--share 0.5]
 *
 * The capacity is measured first, as the runs per second of a burst. Then runs are created evenly. The time is cut into windows;
 * the last third of them is compared with the third before, and the first is left out, because caches fill in it. Exit code 1 if
 * something grows, a run does not complete, or the heap of a thread exceeds its budget (docs/RELIABILITY.md).
 */
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Run } from "#protocol/records/run";
import { HttpConnection } from "./http-connection.ts";
import { MIB, readUsage } from "./process-usage.ts";
import { createRuns } from "./real/create-runs.ts";
import { endedCount, newestRun } from "./real/ended-runs.ts";
import { type RealServer, startRealServer } from "./real/real-server.ts";
import { median } from "./samples.ts";

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "30" }, share: { type: "string", default: "0.5" } },
});
const SECONDS = Number(values.minutes) * 60;
const SHARE = Number(values.share);
const WINDOWS = 18;
const WORKLOAD = "tasks";
const CREATORS = 16;
/** The first burst starts the engines. */
const BURSTS = [200, 1_000] as const;
const READ_BYTES = 262_144;
const LOOK_MS = 50;
const PAGE = 500;
/** Budget of the heap of each thread, without what its limit allows beyond. The gateway's holds the core on two processors. */
const HEAP_BUDGET_MIB: Readonly<Record<string, number>> = {
  main: 48,
  core: 128,
  writer: 64,
  gateway: 160,
  readers: 64,
  "rule-readers": 32,
};

interface Sample {
  residentMib: number;
  descriptors: number;
  walMib: number;
  /** Used heap of each thread. */
  heapsMib: ReadonlyMap<string, number>;
}

interface Window extends Sample {
  runs: number;
  /** Milliseconds from the creation of a run to the start of its code and to its end, 99 of 100 runs at most. */
  startP99: number;
  endP99: number;
}

async function metrics(control: HttpConnection): Promise<ReadonlyMap<string, number>> {
  const { status, body } = await control.get("/metrics");
  if (status !== 200) throw new Error(`GET /metrics answered ${status}: ${body.slice(0, 200)}`);
  const lines = body.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]));
}

async function sample({ pid }: RealServer, control: HttpConnection): Promise<Sample> {
  const series = await metrics(control);
  const heaps = Object.keys(HEAP_BUDGET_MIB).flatMap((thread): [string, number][] => {
    const bytes = series.get(`millrace_heap_used_bytes{thread="${thread}"}`);
    return bytes === undefined ? [] : [[thread, bytes / MIB]];
  });
  return {
    residentMib: (readUsage(pid)?.residentBytes ?? 0) / MIB,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    walMib: (series.get("millrace_wal_bytes") ?? 0) / MIB,
    heapsMib: new Map(heaps),
  };
}

function p99(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(0.99 * sorted.length) - 1)] ?? 0;
}

/** Runs per second of a burst. */
async function capacity(server: RealServer, control: HttpConnection, flow: number): Promise<number> {
  let perSecond = 0;
  for (const runs of BURSTS) {
    const before = await endedCount(control, flow);
    const begin = performance.now();
    const workload = { runs, parameters: {}, atLeast: 0 };
    await createRuns(server, flow, workload, { creators: CREATORS, batch: 1, perSecond: null, interrupt: NEVER });
    while ((await endedCount(control, flow)) < before + runs) await sleep(LOOK_MS);
    perSecond = runs / ((performance.now() - begin) / 1_000);
  }
  return perSecond;
}

const NEVER = new AbortController().signal;

interface Ended {
  startMs: number;
  endMs: number;
}

/** Times of the runs of a flow with ids above `after`, up to `upTo`; endless for one that has not ended. */
async function runsBetween(control: HttpConnection, flow: number, after: number, upTo: number): Promise<Ended[]> {
  const ended: Ended[] = [];
  for (let cursor = upTo + 1; cursor > after + 1; ) {
    const { status, body } = await control.get(`/api/runs?flow_id=${flow}&limit=${PAGE}&cursor=${cursor}`);
    if (status !== 200) throw new Error(`GET /api/runs answered ${status}: ${body}`);
    const { items } = JSON.parse(body) as { items: Pick<Run, "id" | "created_at" | "start_time" | "end_time">[] };
    const msSince = (from: number, to: number | null) => (to === null ? Number.POSITIVE_INFINITY : (to - from) / 1_000);
    for (const { id, created_at, start_time = null, end_time = null } of items)
      if (id > after) ended.push({ startMs: msSince(created_at, start_time), endMs: msSince(created_at, end_time) });
    cursor = items.at(-1)?.id ?? 0;
  }
  return ended;
}

async function soak(server: RealServer, control: HttpConnection, flow: number, perSecond: number): Promise<Window[]> {
  const runs = Math.round(perSecond * SECONDS);
  const workload = { runs, parameters: {}, atLeast: 0 };
  const creating = createRuns(server, flow, workload, { creators: CREATORS, batch: 1, perSecond, interrupt: NEVER });
  let failed: unknown = null;
  creating.catch((cause: unknown) => {
    failed = cause;
  });
  const windows: Window[] = [];
  const begin = performance.now();
  // The newest run at the end of each window: the runs of a window are looked at when the next one ends, so that they have ended.
  const marks = [await newestRun(control)];
  for (let window = 1; window <= WINDOWS; window += 1) {
    await sleep(Math.max(0, begin + (window * SECONDS * 1_000) / WINDOWS - performance.now()));
    if (failed !== null) throw failed;
    const now = await sample(server, control);
    marks.push(await newestRun(control));
    const [after = 0, upTo = 0] = marks.slice(-3);
    const ended = marks.length < 3 ? [] : await runsBetween(control, flow, after, upTo);
    const shown = {
      ...now,
      runs: ended.length,
      startP99: p99(ended.map(({ startMs }) => startMs)),
      endP99: p99(ended.map(({ endMs }) => endMs)),
    };
    windows.push(shown);
    console.log(lineOf(window, shown));
  }
  await creating;
  return windows;
}

function lineOf(window: number, { runs, residentMib, descriptors, walMib, startP99, endP99, heapsMib }: Window): string {
  const heaps = [...heapsMib].map(([thread, mib]) => `${thread} ${mib.toFixed(0)}`).join(", ");
  return `${String(window).padStart(3)}  ${String(runs).padStart(6)} runs  ${residentMib.toFixed(0).padStart(5)} MiB  ${String(descriptors).padStart(4)} files  WAL ${walMib.toFixed(1).padStart(5)} MiB  start p99 ${startP99.toFixed(1).padStart(7)} ms  end p99 ${endP99.toFixed(1).padStart(7)} ms  heaps: ${heaps}`;
}

/** What may grow by which factor, and by how much in addition, which covers noise of small figures. */
const FLAT: readonly [name: string, of: (window: Window) => number, factor: number, more: number][] = [
  ["memory of the server, MiB", ({ residentMib }) => residentMib, 1.1, 8],
  ["open files", ({ descriptors }) => descriptors, 1, 8],
  ["write-ahead log, MiB", ({ walMib }) => walMib, 1.5, 4],
  ["start p99, ms", ({ startP99 }) => startP99, 1.5, 10],
  ["end p99, ms", ({ endP99 }) => endP99, 1.5, 10],
];

/** Prints the judgements; true if all hold. */
function judge(windows: readonly Window[]): boolean {
  const third = WINDOWS / 3;
  let holds = true;
  const say = (ok: boolean, text: string) => {
    holds &&= ok;
    console.log(`${ok ? "ok    " : "FAILED"}  ${text}`);
  };
  for (const [name, of, factor, more] of FLAT) {
    const before = median(windows.slice(third, 2 * third).map(of)) ?? 0;
    const after = median(windows.slice(2 * third).map(of)) ?? 0;
    say(after <= before * factor + more, `${name}: ${before.toFixed(1)} in the second third, ${after.toFixed(1)} in the last`);
  }
  for (const [thread, budget] of Object.entries(HEAP_BUDGET_MIB)) {
    const most = Math.max(0, ...windows.map(({ heapsMib }) => heapsMib.get(thread) ?? 0));
    // The core has no thread of its own on two processors, and readers that nothing asked do not run.
    if (most > 0) say(most <= budget, `heap of ${thread}: at most ${most.toFixed(0)} MiB of ${budget}`);
  }
  return holds;
}

const server = await startRealServer("millrace", resolve(import.meta.dirname, "../.."), []);
const control = new HttpConnection(server.endpoint, READ_BYTES);
try {
  const flow = server.flows.get(WORKLOAD) ?? 0;
  const most = await capacity(server, control, flow);
  const perSecond = most * SHARE;
  console.log(
    `capacity ${most.toFixed(0)} runs/s; ${perSecond.toFixed(0)} runs/s for ${values.minutes} minutes, in ${WINDOWS} windows`,
  );
  const windows = await soak(server, control, flow, perSecond);
  const { body } = await control.get(`/api/runs/counts?flow_id=${flow}`);
  const { states, total } = JSON.parse(body) as { states: Record<string, number>; total: number };
  const flat = judge(windows);
  const lost = total - (states["Completed"] ?? 0);
  const settled = lost <= perSecond;
  console.log(`${settled ? "ok    " : "FAILED"}  ${total} runs, ${lost} of them not completed at the end of the last window`);
  process.exitCode = flat && settled ? 0 : 1;
} finally {
  control.close();
  await server.stop();
}

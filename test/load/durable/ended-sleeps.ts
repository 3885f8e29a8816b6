/** Phases evenly and at-once: delay from the end of a sleep to the queue and to an engine, and of other requests then. */
import { setTimeout as pause } from "node:timers/promises";
import { StallProbe } from "../../hardening/stall-probe.ts";
import type { Cleanup } from "../cleanup.ts";
import { distribution } from "../distribution.ts";
import { figure, latencyFigures } from "../figure.ts";
import { ConnectionClosed } from "../http-connection.ts";
import { LoadFailed } from "../load-failed.ts";
import type { PhaseResult } from "../phases/phase.ts";
import { readUsage } from "../process-usage.ts";
import { Samples } from "../samples.ts";
import { field, getJson, type Target } from "../target.ts";
import { DurableEngine } from "./durable-engine.ts";
import { beginning, completion, FIRST_SEQ } from "./durable-events.ts";
import { createSleepers } from "./durable-runs.ts";

/** Time in which the runs are put to sleep: the sleeps end after it. */
const LEAD_MS = 4_000;
const LEAD_MS_PER_RUN = 1.5;
/** The probe is under way before the first sleep ends. */
const PROBE_LEAD_MS = 1_000;
const WAKE_LIMIT_MS = 60_000;
/** Runs that an engine holds; there are as many engines as the runs need. */
const SLOTS = 500;
/** Of the protocol. */
const EVENTS_PAGE = 1_000;

/** @param spanUs the sleeps end evenly over this time, or all at once if 0 */
export async function measureEndedSleeps(
  target: Target,
  pid: number,
  count: number,
  spanUs: number,
  live: (text: string) => void,
  cleanup: Cleanup,
): Promise<PhaseResult> {
  const firstUs = Math.round((Date.now() + LEAD_MS + LEAD_MS_PER_RUN * count) * 1_000);
  const dues = await createSleepers(target, pid, count, (n) => firstUs + Math.floor((spanUs * n) / count), live);
  const ahead = firstUs / 1_000 - Date.now();
  if (ahead < PROBE_LEAD_MS) throw new LoadFailed(`${count} runs went to sleep ${Math.round(-ahead)} ms too late`);
  await pause(ahead - PROBE_LEAD_MS);
  const { host, port } = target.endpoint;
  const probe = await StallProbe.start(`http://${host}:${port}/api/health`);
  cleanup(() => probe.stop());
  const serverBefore = readUsage(target.pid ?? 0);
  const handedOut = await takeWoken(target, pid, dues, live);
  const serverAfter = readUsage(target.pid ?? 0);
  const stalls = await probe.take();
  await probe.stop();
  const { queued, allQueuedMs } = await readQueued(target, dues, firstUs);
  const serverUs = serverBefore === null || serverAfter === null ? null : (serverAfter.cpuUs - serverBefore.cpuUs) / count;
  return {
    figures: [
      ...latencyFigures("due to queued", queued),
      ...latencyFigures("due to handed out", handedOut),
      ...figure("all queued after", "ms", allQueuedMs),
      ...figure("health slowest", "ms", stalls.server),
      ...figure("idle server slowest", "ms", stalls.machine),
      ...figure("server CPU per run", "us", serverUs),
    ],
    notes: [],
    distributions: [...distribution("due to queued", queued), ...distribution("due to handed out", handedOut)],
  };
}

/** Takes the runs with waiting engines as they wake; afterwards completes them, so that the next phase finds an empty queue. */
async function takeWoken(
  target: Target,
  pid: number,
  dues: ReadonlyMap<number, number>,
  live: (text: string) => void,
): Promise<Samples> {
  const newEngine = () => new DurableEngine(target, pid);
  const engines = Array.from({ length: Math.ceil(dues.size / SLOTS) }, newEngine);
  const handedOut = new Samples();
  const isOver = () => handedOut.count === dues.size;
  const cutAll = () => {
    for (const engine of engines) engine.cut();
  };
  const serve = async (engine: DurableEngine): Promise<void> => {
    while (!isOver() && engine.held.length < SLOTS) {
      const runs = await engine.exchange([], SLOTS - engine.held.length, true);
      const atUs = Date.now() * 1_000;
      for (const { run_id } of runs) {
        const due = dues.get(run_id);
        if (due === undefined) throw new LoadFailed(`run ${run_id} was handed out and had not slept`);
        handedOut.add(Math.max(0, atUs - due) / 1_000);
      }
      live(`${handedOut.count} of ${dues.size} runs were handed out`);
      // The others wait for work, which does not come any more.
      if (isOver()) cutAll();
    }
  };
  const limit = setTimeout(cutAll, WAKE_LIMIT_MS);
  try {
    const ended = await Promise.allSettled(engines.map(serve));
    const failed = ended.find((each) => each.status === "rejected" && !(each.reason instanceof ConnectionClosed));
    if (failed?.status === "rejected") throw failed.reason;
    if (!isOver()) throw new LoadFailed(`only ${handedOut.count} of ${dues.size} runs were handed out`);
    await Promise.all(engines.map(endRuns));
    return handedOut;
  } finally {
    clearTimeout(limit);
    for (const engine of engines) engine.close();
  }
}

async function endRuns(engine: DurableEngine): Promise<void> {
  const runs = engine.held;
  if (runs.length === 0) return;
  await engine.exchange(
    runs.map((run) => ({ run, events: beginning() })),
    0,
  );
  await engine.exchange(
    runs.map((run) => ({ run, events: completion(FIRST_SEQ) })),
    0,
  );
}

/** When each of the runs was queued, by its event. */
async function readQueued(
  target: Target,
  dues: ReadonlyMap<number, number>,
  firstUs: number,
): Promise<{ queued: Samples; allQueuedMs: number }> {
  const queued = new Samples();
  let lastUs = firstUs;
  const seen = new Set<number>();
  for (let cursor = ""; ; ) {
    const path = `/api/events?name=run.resumed&after=${firstUs}&ascending=true&limit=${EVENTS_PAGE}${cursor}`;
    const page = await getJson(target.endpoint, path);
    const items = field(page, "items");
    for (const event of Array.isArray(items) ? items : []) {
      const run = Number(field(event, "run_id"));
      const atUs = Number(field(event, "occurred"));
      const due = dues.get(run);
      if (due === undefined || seen.has(run)) throw new LoadFailed(`run ${run} was queued twice, or had not slept`);
      seen.add(run);
      queued.add((atUs - due) / 1_000);
      lastUs = Math.max(lastUs, atUs);
    }
    const next = field(page, "next_cursor");
    if (next === null || next === undefined) break;
    cursor = `&cursor=${String(next)}`;
  }
  if (seen.size !== dues.size) throw new LoadFailed(`${seen.size} of ${dues.size} runs have an event of their wake`);
  return { queued, allQueuedMs: (lastUs - firstUs) / 1_000 };
}

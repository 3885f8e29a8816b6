/** Runs that wait share engines; a run that computes delays few of them, and not for long. */
import { EngineUsage } from "../load/real/engine-usage.ts";
import type { Check } from "./check.ts";
import type { Outside } from "./outside.ts";
import { readEach, type ServedFolder } from "./served-folder.ts";
import type { Sizes } from "./sizes.ts";

export async function manyWait(served: ServedFolder, outside: Outside, sizes: Sizes, check: Check): Promise<void> {
  const { runs, seconds, limitSeconds } = sizes.waiting;
  const usage = new EngineUsage(served.pid);
  const fromMs = performance.now();
  const created = await served.create("waits", Array(runs).fill({ url: outside.slow(seconds * 1_000) }));
  await served.allEnded("waits");
  const tookSeconds = (performance.now() - fromMs) / 1_000;
  const { engines, peakBytes } = usage.end();
  const megabytes = peakBytes / 1e6;
  check.figure(
    `${runs} runs that wait ${seconds} s ended after ${tookSeconds.toFixed(1)} s; ${engines} engines took ${megabytes.toFixed(0)} MB`,
  );
  check.that(tookSeconds < limitSeconds, `all ended within ${limitSeconds} s`);
  check.that(megabytes < sizes.waiting.limitMb, `the engines took less than ${sizes.waiting.limitMb} MB`);
  const states = await readEach(created, async ({ id }) => (await served.client.runs.get(id)).state.type);
  check.same(new Set(states).size === 1 && states[0], "Completed", "all completed");
}

interface Computed {
  pid: number;
  fromMs: number;
  toMs: number;
}

/** The result of a run is part of its state's details. */
const resultOf = ({ state }: { state: { details: unknown } }): unknown => (state.details as { result?: unknown }).result;

export async function computeBesideWaiting(served: ServedFolder, _: Outside, sizes: Sizes, check: Check): Promise<void> {
  const { waiting, beats, computing, limitMs } = sizes.beside;
  const waiters = await served.create("beats", Array(waiting).fill({ count: beats, ms: 250 }));
  while (((await served.client.runs.counts()).states["Running"] ?? 0) < waiting);
  const computed = await served.create("computes", Array(computing).fill({ ms: 1_000 }));
  await served.allEnded("computes");
  await served.allEnded("beats");
  const spans = (await readEach(computed, ({ id }) => served.client.runs.get(id))).map(resultOf) as Computed[];
  const late = (await readEach(waiters, ({ id }) => served.client.runs.get(id))).flatMap((run) => resultOf(run) as number[]);
  late.sort((a, b) => a - b);
  const p99 = late[Math.floor(late.length * 0.99)] ?? 0;
  const perEngine = [...Map.groupBy(spans, ({ pid }) => pid).values()].map(({ length }) => length);
  const spanMs = Math.max(...spans.map(({ toMs }) => toMs)) - Math.min(...spans.map(({ fromMs }) => fromMs));
  check.figure(
    `${computing} runs that compute 1 s beside ${waiting} that wait: lateness p50 ${late[late.length >> 1]?.toFixed(0)}, p99 ${p99.toFixed(0)}, ` +
      `most ${late.at(-1)?.toFixed(0)} ms; computing runs by engine ${perEngine.join(" and ")}, within ${(spanMs / 1_000).toFixed(1)} s`,
  );
  check.that(p99 <= limitMs, `the lateness p99 is at most ${limitMs} ms`);
  if (sizes.engines > 1) check.that(perEngine.length > 1, "the computing runs are spread over the engines");
}

/** As many computing runs as engines, at once: each has an engine to itself. */
export async function spreadComputing(served: ServedFolder, _: Outside, sizes: Sizes, check: Check): Promise<void> {
  const created = await served.create("computes", Array(sizes.engines).fill({ ms: 1_000 }));
  await served.allEnded("computes");
  const spans = (await readEach(created, ({ id }) => served.client.runs.get(id))).map(resultOf) as Computed[];
  const pids = new Set(spans.map(({ pid }) => pid));
  check.figure(`${sizes.engines} computing runs on ${pids.size} engines`);
  check.same(pids.size, sizes.engines, "engines that computed");
}

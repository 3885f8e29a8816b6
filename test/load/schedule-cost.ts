/**
 * Measures schedules, backfills and batches of runs:
 * `node --conditions=millrace-src test/load/schedule-cost.ts [fires|schedules|backfills|batches]...`
 *
 * fires: cost of the next hundred fires by kind of schedule. schedules: a thousand schedules that fire in the same second, without
 * and with parameters that name the day of the fire, and how late each run was queued. backfills: seconds until the answer, memory, duration of a cancel, and the latency of
 * creating other runs in that time. batches: the same for 10,000 runs of one request, and the longest steps of the actors.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type ReadySpec, readSpec } from "#actors/scheduler/recurrence/spec";
import type { Schedule } from "#protocol/records/schedule";
import { Millrace } from "#sdk/client/index";
import { startOwnServer } from "./own-server.ts";
import { readUsage } from "./process-usage.ts";

const SCHEDULES = 1_000;
/** From the first creation to the fire, unless MILLRACE_AHEAD_SECONDS is set. */
const AHEAD_SECONDS = Number(process.env["MILLRACE_AHEAD_SECONDS"] ?? 40);
/** Time until everything due is decided. */
const SETTLED_MS = 3_000;
const BACKFILL_SIZES = [10_000, 100_000];
const BATCH_RUNS = 10_000;
const BATCH_ROUNDS = 5;
/** Length of a text parameter: small runs, and a batch of almost 8 MiB. */
const BATCH_TEXTS = [0, 760];
const VIEWS = 25;
const MIB = 2 ** 20;

const SPECS: Record<string, Schedule> = {
  "cron */5, UTC": { kind: "cron", cron: "*/5 * * * *", timezone: "UTC" },
  "cron */5, New York": { kind: "cron", cron: "*/5 * * * *", timezone: "America/New_York" },
  "cron weekly, London": { kind: "cron", cron: "0 9 * * 1", timezone: "Europe/London" },
  "cron 29 February": { kind: "cron", cron: "0 0 29 2 *", timezone: "UTC" },
  "cron never": { kind: "cron", cron: "0 0 30 2 *", timezone: "UTC" },
  "every 10 min": { kind: "interval", interval: 600 },
  "every day, Berlin": { kind: "interval", interval: 86_400, timezone: "Europe/Berlin" },
  "rrule daily from 2010": { kind: "rrule", rrule: "DTSTART;TZID=Europe/Paris:20100101T090000\nRRULE:FREQ=DAILY" },
  "rrule minutely from 1970": { kind: "rrule", rrule: "DTSTART:19700101T000000Z\nRRULE:FREQ=MINUTELY" },
  "rrule monthly, last Friday": { kind: "rrule", rrule: "DTSTART:20260101T090000Z\nRRULE:FREQ=MONTHLY;BYDAY=-1FR" },
};

function show(text: string): void {
  process.stdout.write(`${text}\n`);
}

function ready(schedule: Schedule): ReadySpec {
  const read = readSpec(schedule, { timezone: "UTC", anchorUs: 0 });
  if (!read.ok) throw new Error(read.error);
  return read.ready;
}

function measureFires(): void {
  const count = 100;
  const start = Date.UTC(2026, 6, 1) * 1000;
  for (const [name, schedule] of Object.entries(SPECS)) {
    let found = 0;
    let parsedMs = 0;
    const startedMs = performance.now();
    let rounds = 0;
    for (; performance.now() - startedMs < 300; rounds += 1) {
      const beforeMs = performance.now();
      // A new object each time, because cached fires must not be measured.
      const { fires } = ready(schedule);
      parsedMs += performance.now() - beforeMs;
      found = fires.after(start + rounds * 7_000_000, count).length;
    }
    const perRoundUs = ((performance.now() - startedMs - parsedMs) * 1000) / rounds;
    const parseUs = (parsedMs * 1000) / rounds;
    show(`${name}: ${found} fires in ${perRoundUs.toFixed(0)} us, reading the spec ${parseUs.toFixed(0)} us`);
  }
}

async function withServer(work: (client: Millrace, pid: number) => Promise<void>): Promise<void> {
  const target = await startOwnServer({ home: null, durability: "normal", token: null });
  try {
    const { host, port } = target.endpoint;
    await work(new Millrace({ url: `http://${host}:${port}` }), target.pid ?? 0);
  } finally {
    await target.stop();
  }
}

/** Registers a flow by its first run. */
async function register(client: Millrace, name: string, body: Record<string, unknown> = {}): Promise<number> {
  const run = await client.runs.create({ project: "load", flow: name, module: "bench_mod", source_dir: "/bench", ...body });
  return run.flow_id;
}

function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.ceil(part * sorted.length) - 1] ?? Number.NaN;
}

async function measureSchedules(): Promise<void> {
  for (const parameters of [null, { day: "{{ fire.date }}" }]) await measureSameSecond(parameters);
}

async function measureSameSecond(parameters: Record<string, string> | null): Promise<void> {
  await withServer(async (client, pid) => {
    const schema = { type: "object", properties: { day: { type: "string", format: "date", default: "1970-01-01" } } };
    const flow = await register(client, "scheduled", parameters === null ? {} : { parameter_schema: schema });
    const startedMs = performance.now();
    // Enough time to create all schedules, and to complete the look-ahead before the fire.
    const fire = (Math.floor(Date.now() / 1000) + AHEAD_SECONDS) * 1_000_000;
    for (let index = 0; index < SCHEDULES; index += 1)
      await client.schedules.create(flow, {
        ...{ kind: "interval", interval: 86_400, anchor: fire, timezone: "UTC" },
        ...(parameters !== null && { parameters }),
      });
    const what = parameters === null ? "schedules" : "schedules with parameters";
    show(`${SCHEDULES} ${what} created in ${((performance.now() - startedMs) / 1000).toFixed(2)} s`);
    if (Date.now() * 1000 > fire - 6_000_000) throw new Error("the machine is too slow: the fire came before all was prepared");
    await sleep(fire / 1000 - Date.now() + SETTLED_MS);
    // Without engines, each run still holds the time since when it is queued.
    const runs = await client.runs.list({ flow_id: flow }, { pageSize: 500 }).first(10 * SCHEDULES);
    const drifts: number[] = [];
    for (const { id, scheduled_time, parameters: given } of runs) {
      if (scheduled_time !== fire) continue;
      if (parameters !== null && given["day"] !== new Date(fire / 1000).toISOString().slice(0, 10))
        throw new Error(`run ${id} has ${JSON.stringify(given)}`);
      const { reason } = await client.runs.explain(id);
      if (reason !== null && reason.code !== "not_due") drifts.push((reason.since - fire) / 1000);
    }
    drifts.sort((a, b) => a - b);
    const at = (part: number): string => `${quantile(drifts, part).toFixed(1)} ms`;
    show(`${drifts.length} fires on one second: queued after p50 ${at(0.5)}, p99 ${at(0.99)}, last ${at(1)}`);
    const scheduler = (await client.actors()).find(({ name }) => name === "scheduler");
    show(`longest step of the scheduler since the start: ${((scheduler?.step_max_us ?? 0) / 1000).toFixed(1)} ms`);
    show(`memory ${((readUsage(pid)?.residentBytes ?? 0) / MIB).toFixed(0)} MiB`);
  });
}

/** Creates runs of another flow, in sequence, until stopped; returns the sorted latencies in milliseconds. */
function createMeanwhile(client: Millrace): { stop(): Promise<number[]> } {
  let isOver = false;
  const times: number[] = [];
  const creating = (async () => {
    while (!isOver) {
      const sentMs = performance.now();
      await register(client, "other");
      times.push(performance.now() - sentMs);
    }
  })();
  return {
    async stop() {
      isOver = true;
      await creating;
      return times.sort((a, b) => a - b);
    },
  };
}

function showMeanwhile(times: readonly number[]): void {
  const [p50, p99, last] = [0.5, 0.99, 1].map((part) => `${quantile(times, part).toFixed(1)} ms`);
  show(`  ${times.length} other runs created meanwhile: p50 ${p50}, p99 ${p99}, slowest ${last}`);
}

/** The views that people look at while many runs wait; the core answers both. */
async function showViews(client: Millrace, size: number): Promise<void> {
  const views = { queue: () => client.queue(), explain: () => client.runs.explain(Math.ceil(size / 2)) };
  for (const [name, view] of Object.entries(views)) {
    const times: number[] = [];
    while (times.length < VIEWS) {
      const sentMs = performance.now();
      await view();
      times.push(performance.now() - sentMs);
    }
    times.sort((a, b) => a - b);
    show(`  ${name}: p50 ${quantile(times, 0.5).toFixed(1)} ms, slowest ${quantile(times, 1).toFixed(1)} ms`);
  }
}

async function measureBackfills(): Promise<void> {
  for (const size of BACKFILL_SIZES) {
    await withServer(async (client, pid) => {
      const schema = { type: "object", properties: { at: { type: "string", format: "date-time" } } };
      const flow = await register(client, "filled", { parameter_schema: schema });
      const before = readUsage(pid);
      const end = new Date(Date.UTC(2026, 0, 1) + (size - 1) * 60_000).toISOString();
      const meanwhile = createMeanwhile(client);
      const startedMs = performance.now();
      const backfill = await client.backfills.create(flow, { parameter: "at", start: "2026-01-01", end, interval: 60 });
      const seconds = (performance.now() - startedMs) / 1000;
      const others = await meanwhile.stop();
      const after = readUsage(pid);
      const megabytes = [before, after].map((usage) => ((usage?.residentBytes ?? 0) / MIB).toFixed(0)).join(" -> ");
      const busy = (((after?.cpuUs ?? 0) - (before?.cpuUs ?? 0)) / 1e6).toFixed(2);
      show(`backfill of ${backfill.total}: ${seconds.toFixed(2)} s to 201, processors ${busy} s, memory ${megabytes} MiB`);
      showMeanwhile(others);
      await showViews(client, size);
      const beside = createMeanwhile(client);
      const cancelledMs = performance.now();
      await client.backfills.cancel(backfill.id);
      show(`  cancelled in ${((performance.now() - cancelledMs) / 1000).toFixed(2)} s`);
      showMeanwhile(await beside.stop());
    });
  }
}

async function measureBatches(): Promise<void> {
  for (const length of BATCH_TEXTS) {
    await withServer(async (client, pid) => {
      const schema = { type: "object", properties: { n: { type: "integer" }, text: { type: "string" } } };
      await register(client, "batched", { parameter_schema: schema });
      const text = "x".repeat(length);
      const runs = Array.from({ length: BATCH_RUNS }, (_, n) => ({ parameters: length === 0 ? { n } : { n, text } }));
      for (let round = 1; round <= 2 * BATCH_ROUNDS; round += 1) {
        const before = readUsage(pid);
        const meanwhile = round > BATCH_ROUNDS ? createMeanwhile(client) : null;
        const startedMs = performance.now();
        await client.runs.createMany(runs, { defaults: { project: "load", flow: "batched" } });
        const tookMs = performance.now() - startedMs;
        const others = await meanwhile?.stop();
        const busyUs = ((readUsage(pid)?.cpuUs ?? 0) - (before?.cpuUs ?? 0)) / BATCH_RUNS;
        show(`batch of ${BATCH_RUNS}, text ${length}: ${tookMs.toFixed(0)} ms to 201, processors ${busyUs.toFixed(0)} us/run`);
        if (others !== undefined) showMeanwhile(others);
      }
      const steps = (await client.actors()).filter(({ name }) => name === "dispatcher" || name === "store-writer");
      for (const { name, step_max_us } of steps) show(`  longest step of the ${name}: ${(step_max_us / 1000).toFixed(0)} ms`);
    });
  }
}

const parts: Record<string, () => void | Promise<void>> = {
  fires: measureFires,
  schedules: measureSchedules,
  backfills: measureBackfills,
  batches: measureBatches,
};
const asked = process.argv.slice(2);
for (const [name, measure] of Object.entries(parts)) if (asked.length === 0 || asked.includes(name)) await measure();
process.exit(0);

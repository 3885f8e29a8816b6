/**
 * Measures the event stream: `node --conditions=millrace-src test/load/stream-cost.ts [READERS] [RATE] [SECONDS] [STALLED]`
 *
 * An engine reports RATE events per second for SECONDS; each event is a message for READERS readers. Delivery is the time
 * from the event's own time (the decision) until a reader has the message, over all messages of the first few readers; other
 * readers only read and count. Then the same with STALLED further readers that read nothing, and the server's memory in that
 * time.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { startOwnServer } from "./own-server.ts";
import { readUsage } from "./process-usage.ts";
import { ReportingRun } from "./reporting-run.ts";
import { Samples } from "./samples.ts";
import { openStream, type StreamReader } from "./stream-reader.ts";
import type { Target } from "./target.ts";

const [READERS = 500, RATE = 2_000, SECONDS = 10, STALLED = 100] = process.argv.slice(2).map(Number);
/** Readers whose messages are timed individually. */
const TIMED = 4;
/** Interval of the reports: a message waits at most this long for the next report. */
const REPORT_MS = 20;
/** Time for messages still in flight when the last report is answered. */
const DRAIN_LIMIT_MS = 30_000;
const LOOK_EVERY_MS = 50;
const MIB = 2 ** 20;
/** Includes the characters after the number, because a number may be split between two packets. */
const TICK = /"name":"load\.tick","occurred":(\d+),/g;

interface TimedReader extends StreamReader {
  messages: number;
}

function openTimedReader({ endpoint }: Target, delivery: Samples): TimedReader {
  let rest = "";
  const reader: TimedReader = Object.assign(openStream(endpoint, "", take), { messages: 0 });
  return reader;

  function take(data: Buffer): void {
    const nowUs = Date.now() * 1000;
    const text = rest + data.toString("latin1");
    let end = 0;
    for (const found of text.matchAll(TICK)) {
      reader.messages += 1;
      delivery.add((nowUs - Number(found[1])) / 1000);
      end = found.index + found[0].length;
    }
    // Keep a possible beginning of the next match.
    rest = text.slice(Math.max(end, text.length - 200));
  }
}

/** Reports at the requested rate; returns the number of events and the elapsed time. */
async function tick(run: ReportingRun): Promise<{ sent: number; seconds: number }> {
  const startedMs = performance.now();
  let sent = 0;
  for (let elapsed = 0; elapsed < SECONDS; elapsed = (performance.now() - startedMs) / 1000) {
    const due = Math.floor(elapsed * RATE) - sent;
    if (due > 0) await run.report(Array.from({ length: due }, () => "load.tick"));
    sent += Math.max(0, due);
    await sleep(REPORT_MS);
  }
  return { sent, seconds: (performance.now() - startedMs) / 1000 };
}

async function measure(target: Target, run: ReportingRun, stalled: number): Promise<void> {
  const resident = (): number => (readUsage(target.pid ?? 0)?.residentBytes ?? 0) / MIB;
  const cpuUs = (): number => readUsage(target.pid ?? 0)?.cpuUs ?? 0;
  const delivery = new Samples();
  const timed = Array.from({ length: Math.min(READERS, TIMED) }, () => openTimedReader(target, delivery));
  const readers = [...timed, ...Array.from({ length: READERS - timed.length }, () => openStream(target.endpoint, ""))];
  const asleep = Array.from({ length: stalled }, () => openStream(target.endpoint, ""));
  const all = [...readers, ...asleep];
  for (const { socket } of all) socket.on("error", () => undefined);
  while (all.some(({ bytes }) => bytes === 0)) await sleep(LOOK_EVERY_MS);
  for (const { socket } of asleep) socket.pause();
  const before = { memory: resident(), cpuUs: cpuUs(), bytes: readers.reduce((sum, { bytes }) => sum + bytes, 0) };
  let most = before.memory;
  const looking = setInterval(() => {
    most = Math.max(most, resident());
  }, LOOK_EVERY_MS);
  const { sent, seconds } = await tick(run);
  const limitMs = performance.now() + DRAIN_LIMIT_MS;
  while (timed.some(({ messages }) => messages < sent) && performance.now() < limitMs) await sleep(LOOK_EVERY_MS);
  clearInterval(looking);
  const bytes = readers.reduce((sum, reader) => sum + reader.bytes, 0) - before.bytes;
  const [p50, p99, max] = delivery.quantiles([0.5, 0.99, 1]).map((value) => `${(value ?? Number.NaN).toFixed(1)} ms`);
  const lost = timed.reduce((sum, { messages }) => sum + sent - messages, 0);
  const cpu = (cpuUs() - before.cpuUs) / 1e6 / seconds;
  for (const { socket } of all) socket.destroy();
  process.stdout.write(
    `${READERS} readers and ${stalled} that take nothing, ${(sent / seconds).toFixed(0)} messages/s for ${seconds.toFixed(1)} s:\n` +
      `  delivery p50 ${p50}, p99 ${p99}, largest ${max}; not delivered to the ${timed.length} timed readers: ${lost}\n` +
      `  ${(bytes / MIB / seconds).toFixed(0)} MiB/s to all readers, ${cpu.toFixed(2)} processors of the server\n` +
      `  memory of the server ${before.memory.toFixed(0)} MiB before, ${most.toFixed(0)} MiB at most\n`,
  );
}

const target = await startOwnServer({ home: null, durability: "normal", token: null });
try {
  const run = await ReportingRun.start(target);
  await measure(target, run, 0);
  await measure(target, run, STALLED);
  run.close();
} finally {
  await target.stop();
}
process.exit(0);

/**
 * Measures requests that wait for a run: `node --conditions=millrace-src test/load/wait-cost.ts [WAITERS] [RATE] [SECONDS]`
 *
 * WAITERS connections each wait for the end of a run of their own, while an engine reports RATE events per second for SECONDS.
 * The runs are cancelled one by one in that time. A wake is the time from the end of the run (its decision) until its waiter
 * has the answer. Then the same with as many readers of a stream filtered by run. Memory is that of the server's process,
 * per connection that is open anyway.
 */
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { HttpConnection } from "./http-connection.ts";
import { startOwnServer } from "./own-server.ts";
import { readUsage } from "./process-usage.ts";
import { ReportingRun } from "./reporting-run.ts";
import { Samples } from "./samples.ts";
import type { Target } from "./target.ts";

const [WAITERS = 1_000, RATE = 2_000, SECONDS = 10] = process.argv.slice(2).map(Number);
/** Interval of the reports: a message waits at most this long for the next report. */
const REPORT_MS = 20;
/** Time for memory that is no longer used to be returned, and for memory in use to be counted. */
const SETTLE_MS = 2_000;
const LOOK_EVERY_MS = 20;
const BATCH_BYTES = 2 ** 20;
const MIB = 2 ** 20;
/** The end of a cancelled run, in an answer or a message. */
const ENDED = /"type":"Cancelled","timestamp":(\d+)/;

class Waiter {
  readonly socket: Socket;
  readonly #host: string;
  readonly #wakes: Samples;
  bytes = 0;
  answered = false;
  ended = false;
  #text = "";

  constructor({ endpoint }: Target, wakes: Samples) {
    this.#host = endpoint.host;
    this.#wakes = wakes;
    this.socket = connect(endpoint.port, endpoint.host);
    this.socket.on("error", () => undefined);
    this.socket.on("data", (data: Buffer) => this.#take(data));
  }

  ask(path: string): void {
    this.answered = false;
    this.#text = "";
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: ${this.#host}\r\n\r\n`);
  }

  #take(data: Buffer): void {
    this.answered = true;
    this.bytes += data.length;
    if (this.ended) return;
    this.#text += data.toString("latin1");
    const found = ENDED.exec(this.#text);
    if (found === null) return;
    this.ended = true;
    this.#wakes.add((Date.now() * 1000 - Number(found[1])) / 1000);
  }
}

/** Runs that no engine takes. */
async function createRuns({ flow }: Target, connection: HttpConnection): Promise<number[]> {
  const { project, name, source_dir } = flow;
  const defaults = { project, flow: name, module: "no_engine_mod", source_dir };
  const body = JSON.stringify({ defaults: { ...defaults, flow: "awaited" }, runs: Array.from({ length: WAITERS }, () => ({})) });
  const answer = await connection.post("/api/runs/batch", body, true);
  if (answer.status !== 201) throw new Error(`the runs were not created: ${answer.status} ${answer.body.slice(0, 200)}`);
  return (JSON.parse(answer.body) as { runs: { id: number }[] }).runs.map(({ id }) => id);
}

async function settled(waiters: readonly Waiter[], done: (waiter: Waiter) => boolean): Promise<void> {
  while (!waiters.every(done)) await sleep(LOOK_EVERY_MS);
}

/** Reports at the requested rate and ends the runs at even distances. */
async function load(run: ReportingRun, connection: HttpConnection, runs: readonly number[]): Promise<number> {
  const startedMs = performance.now();
  const elapsed = (): number => (performance.now() - startedMs) / 1000;
  const reports = (async () => {
    for (let sent = 0; elapsed() < SECONDS; await sleep(REPORT_MS)) {
      const due = Math.floor(elapsed() * RATE) - sent;
      if (due > 0) await run.report(Array.from({ length: due }, () => "load.tick"));
      sent += Math.max(0, due);
    }
  })();
  for (const [index, id] of runs.entries()) {
    await sleep(Math.max(0, ((index + 1) / runs.length) * SECONDS * 1000 - elapsed() * 1000));
    await connection.post(`/api/runs/${id}/cancel`, "{}", false);
  }
  await reports;
  return elapsed();
}

async function measure(what: string, target: Target, run: ReportingRun, pathOf: (id: number) => string): Promise<void> {
  const resident = (): number => readUsage(target.pid ?? 0)?.residentBytes ?? 0;
  const cpuUs = (): number => readUsage(target.pid ?? 0)?.cpuUs ?? 0;
  const connection = new HttpConnection(target.endpoint, BATCH_BYTES);
  const runs = await createRuns(target, connection);
  const wakes = new Samples();
  const waiters = runs.map(() => new Waiter(target, wakes));
  // Each connection has had an answer, and the code of the server has run, before memory is measured.
  for (const [index, waiter] of waiters.entries()) waiter.ask(`/api/runs/${runs[index]}?wait_ms=1`);
  await settled(waiters, ({ answered }) => answered);
  await sleep(SETTLE_MS);
  const before = resident();
  for (const [index, waiter] of waiters.entries()) waiter.ask(pathOf(runs[index] ?? 0));
  await sleep(SETTLE_MS);
  const memory = (resident() - before) / waiters.length;
  const bytesBefore = waiters.reduce((sum, { bytes }) => sum + bytes, 0);
  const cpuBefore = cpuUs();
  const seconds = await load(run, connection, runs);
  await settled(waiters, ({ ended }) => ended);
  const bytes = waiters.reduce((sum, waiter) => sum + waiter.bytes, 0) - bytesBefore;
  const [p50, p99, max] = wakes.quantiles([0.5, 0.99, 1]).map((value) => `${(value ?? Number.NaN).toFixed(1)} ms`);
  for (const { socket } of waiters) socket.destroy();
  connection.close();
  process.stdout.write(
    `${waiters.length} ${what}, ${RATE} messages/s for ${seconds.toFixed(1)} s:\n` +
      `  wake p50 ${p50}, p99 ${p99}, largest ${max}\n` +
      `  ${(bytes / MIB / seconds).toFixed(2)} MiB/s to all, ${((cpuUs() - cpuBefore) / 1e6 / seconds).toFixed(2)} processors of the server\n` +
      `  ${memory.toFixed(0)} bytes of the server for each, beside its open connection\n`,
  );
}

const target = await startOwnServer({ home: null, durability: "normal", token: null });
try {
  const run = await ReportingRun.start(target);
  await measure("waits", target, run, (id) => `/api/runs/${id}?wait_ms=30000`);
  await measure("readers of filtered streams", target, run, (id) => `/api/stream?run_id=${id}&kinds=run.updated`);
  run.close();
} finally {
  await target.stop();
}
process.exit(0);

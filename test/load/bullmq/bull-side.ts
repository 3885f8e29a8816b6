/** One BullMQ queue with its Redis and its worker process, and a round of empty jobs. */
import { type ChildProcess, fork } from "node:child_process";
import { distribution } from "../distribution.ts";
import { type Figure, figure, latencyFigures } from "../figure.ts";
import { LoadFailed } from "../load-failed.ts";
import type { PhaseResult } from "../phases/phase.ts";
import { MIB, ownCpuUs, ownUsage, readUsage } from "../process-usage.ts";
import type { Progress } from "../progress.ts";
import { Samples } from "../samples.ts";
import { TimelineSampler } from "../timeline.ts";
import { type BullQueue, loadBull } from "./bull-library.ts";
import { type Expect, epochMs, type WorkerMessage } from "./bull-messages.ts";
import { type AppendFsync, type RedisServer, startRedis, stopProcess } from "./redis-server.ts";

const WORKER = new URL("./bull-worker.ts", import.meta.url);
const QUEUE = "load";
const JOB = { name: "empty", data: {} };

export interface BullRound {
  runs: number;
  creators: number;
  /** Jobs of one call of a creator. */
  batch: number;
  limitSeconds: number;
  progress: Progress;
}

interface Ended {
  atMs: number;
  waitedMs: number[];
  tookMs: number[];
}

export class BullSide {
  readonly #redis: RedisServer;
  readonly #worker: ChildProcess;
  readonly #queue: BullQueue;
  #ended = 0;
  #isStopped = false;
  #settle: PromiseWithResolvers<Ended> | null = null;

  private constructor(redis: RedisServer, worker: ChildProcess, queue: BullQueue) {
    this.#redis = redis;
    this.#worker = worker;
    this.#queue = queue;
    worker.on("message", (message: WorkerMessage) => this.#receive(message));
    worker.on("exit", (code) => this.#settle?.reject(new LoadFailed(`the BullMQ worker ended with code ${code}`)));
  }

  static async start(folder: string, appendFsync: AppendFsync, concurrency: number): Promise<BullSide> {
    const redis = await startRedis(appendFsync);
    const { host, port } = redis;
    const worker = fork(WORKER, [folder, String(port), QUEUE, String(concurrency)], { execArgv: ["--no-warnings"] });
    const { Queue } = loadBull(folder);
    const side = new BullSide(redis, worker, new Queue(QUEUE, { connection: { host, port, maxRetriesPerRequest: null } }));
    try {
      await new Promise<void>((resolve, reject) => {
        worker.once("message", () => resolve());
        worker.once("exit", (code) => reject(new LoadFailed(`the BullMQ worker ended with code ${code}`)));
      });
      return side;
    } catch (error) {
      await side.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#settle?.reject(new LoadFailed("interrupted"));
    await this.#queue.close().catch(() => undefined);
    await stopProcess(this.#worker);
    await this.#redis.stop();
  }

  async round({ runs, creators, batch, limitSeconds, progress }: BullRound): Promise<PhaseResult> {
    const before = this.#ended;
    const costBefore = this.#cost();
    const processes = {
      server: () => readUsage(this.#redis.pid),
      engines: () => readUsage(this.#worker.pid ?? 0),
      "load generator": ownUsage,
    };
    const live = (text: string) => progress.live(text);
    const sampler = new TimelineSampler({ ended: () => this.#ended - before, processes, live });
    const begunMs = epochMs();
    let createdMs: number;
    let ended: Ended;
    try {
      const ending = this.#expect(before + runs, limitSeconds);
      ending.catch(() => undefined);
      await this.#create(runs, creators, batch);
      createdMs = epochMs();
      ended = await ending;
    } finally {
      sampler.stop();
    }
    const { atMs, waitedMs, tookMs } = ended;
    const timeline = sampler.end();
    const seconds = (atMs - begunMs) / 1_000;
    const [waited, took] = [samplesOf(waitedMs), samplesOf(tookMs)];
    return {
      figures: [
        ...figure("runs", "runs/s", runs / seconds),
        ...figure("until all ended", "s", seconds),
        ...figure("creation of all", "s", (createdMs - begunMs) / 1_000),
        ...this.#costFigures(costBefore, runs),
        ...latencyFigures("created to started", waited),
        ...latencyFigures("run", took),
      ],
      notes: [],
      timeline,
      distributions: [...distribution("created to started", waited), ...distribution("run", took)],
    };
  }

  #receive(message: WorkerMessage): void {
    if (message.kind === "count" || message.kind === "ended") this.#ended = message.ended;
    if (message.kind === "ended") this.#settle?.resolve(message);
    if (message.kind === "failed") this.#settle?.reject(new LoadFailed(`BullMQ: ${message.error}`));
  }

  async #expect(ended: number, limitSeconds: number): Promise<Ended> {
    const settle = Promise.withResolvers<Ended>();
    this.#settle = settle;
    this.#worker.send({ ended } satisfies Expect);
    const limit = setTimeout(
      () => settle.reject(new LoadFailed(`BullMQ: after ${limitSeconds} s not all jobs had ended`)),
      limitSeconds * 1_000,
    );
    return await settle.promise.finally(() => clearTimeout(limit));
  }

  async #create(runs: number, creators: number, batch: number): Promise<void> {
    let left = runs;
    const creator = async () => {
      while (left > 0 && !this.#isStopped) {
        const count = Math.min(batch, left);
        left -= count;
        if (batch === 1) await this.#queue.add(JOB.name, JOB.data);
        else await this.#queue.addBulk(Array.from({ length: count }, () => JOB));
      }
    };
    await Promise.all(Array.from({ length: Math.min(creators, Math.ceil(runs / batch)) }, creator));
  }

  #cost(): { server: number; engines: number; own: number } {
    const cpuUs = (pid = 0) => readUsage(pid)?.cpuUs ?? 0;
    return { server: cpuUs(this.#redis.pid), engines: cpuUs(this.#worker.pid), own: ownCpuUs() };
  }

  #costFigures(before: { server: number; engines: number; own: number }, runs: number): Figure[] {
    const after = this.#cost();
    const [server, engines] = [(after.server - before.server) / runs, (after.engines - before.engines) / runs];
    return [
      ...figure("server CPU per run", "us", server),
      ...figure("engine CPU per run", "us", engines),
      ...figure("server and engine CPU per run", "us", server + engines),
      ...figure("generator CPU per run", "us", (after.own - before.own) / runs),
      ...figure("server memory", "MiB", (readUsage(this.#redis.pid)?.residentBytes ?? 0) / MIB),
      ...figure("memory of all engines", "MiB", (readUsage(this.#worker.pid ?? 0)?.residentBytes ?? 0) / MIB),
    ];
  }
}

function samplesOf(values: readonly number[]): Samples {
  const samples = new Samples();
  for (const value of values) samples.add(value);
  return samples;
}

/**
 * Measures how long a server does not answer, from a separate thread: GET /api/health every ten milliseconds, and the same on
 * an idle server, whose slowest answer shows the machine's own delay at that time.
 */
import { Agent, createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const EVERY_MS = 10;
/** A slower answer counts as never given. */
const ANSWER_LIMIT_MS = 120_000;

/** Slowest answers since the last call of `take`, in milliseconds. */
export interface Stalls {
  server: number;
  /** Of the idle server. */
  machine: number;
}

export class StallProbe {
  readonly #probe: Worker;
  readonly #idle: Worker;

  private constructor(probe: Worker, idle: Worker) {
    this.#probe = probe;
    this.#idle = idle;
  }

  static async start(healthUrl: string): Promise<StallProbe> {
    const file = fileURLToPath(import.meta.url);
    const idle = new Worker(file, { workerData: { role: "idle" } });
    const idleUrl = await new Promise<string>((resolve) => idle.once("message", resolve));
    const probe = new Worker(file, { workerData: { role: "probe", urls: [healthUrl, idleUrl] } });
    await new Promise((resolve) => probe.once("message", resolve));
    return new StallProbe(probe, idle);
  }

  /** The slowest since the last call; waits for answers in flight. */
  async take(): Promise<Stalls> {
    const answer = new Promise<Stalls>((resolve) => this.#probe.once("message", resolve));
    this.#probe.postMessage("take");
    return await answer;
  }

  async stop(): Promise<void> {
    await Promise.all([this.#probe.terminate(), this.#idle.terminate()]);
  }
}

/** Sends one request after the other; a late answer delays the next request, so a stall is seen whole. */
class Prober {
  #longestMs = 0;
  #settled: Promise<void> = Promise.resolve();
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string) {
    void this.#run(url);
  }

  async take(): Promise<number> {
    await this.#settled;
    const longest = this.#longestMs;
    this.#longestMs = 0;
    return longest;
  }

  async #run(url: string): Promise<void> {
    for (;;) {
      const begin = performance.now();
      this.#settled = this.#ask(url).then(() => {
        this.#longestMs = Math.max(this.#longestMs, performance.now() - begin);
      });
      await this.#settled;
      await pause(Math.max(0, EVERY_MS - (performance.now() - begin)));
    }
  }

  #ask(url: string): Promise<void> {
    return new Promise((resolve) => {
      const request = get(url, { agent: this.#agent, timeout: ANSWER_LIMIT_MS }, (response) => {
        response.resume();
        response.once("end", resolve);
        response.once("error", () => resolve());
      });
      request.once("timeout", () => request.destroy());
      request.once("error", () => resolve());
    });
  }
}

async function beProbe(urls: readonly string[]): Promise<void> {
  const [server, machine] = urls.map((url) => new Prober(url));
  parentPort?.on("message", async () => {
    parentPort?.postMessage({ server: (await server?.take()) ?? 0, machine: (await machine?.take()) ?? 0 } satisfies Stalls);
  });
  parentPort?.postMessage("ready");
}

function beIdle(): void {
  const server = createServer((_request, response) => void response.end("ok"));
  server.listen(0, "127.0.0.1", () => parentPort?.postMessage(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`));
}

if (!isMainThread) {
  const { role, urls } = workerData as { role: "idle" | "probe"; urls: readonly string[] };
  if (role === "idle") beIdle();
  else void beProbe(urls);
}

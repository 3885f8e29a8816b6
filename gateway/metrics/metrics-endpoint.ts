/**
 * GET /metrics. Scrapers that ask during a collection share its figures, so their number does not multiply the work of the
 * core. The metrics library is loaded at the first scrape: a server without a scraper does not pay for it at its start.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { CommandKind } from "#protocol/wire/command";
import type { CoreFigures } from "#protocol/wire/figures";
import type { OutstandingCommands } from "../commands/outstanding-commands.ts";
import type { RunWaits } from "../commands/run-waits.ts";
import { READS } from "../reads/read-table.ts";
import type { Reads } from "../reads/reads.ts";
import type { Endpoint } from "../request/endpoint.ts";
import { InnerExchange, type InnerOutcome } from "../request/inner-exchange.ts";
import { replyMetrics, replyRefused } from "../request/reply.ts";
import type { StreamHub } from "../stream/subscribers.ts";
import type { Exchange } from "../transport/transport-port.ts";
import type { GatewayFigures, RunCounts, ServerMetrics } from "./server-metrics.ts";

export interface MetricsSources {
  commands: OutstandingCommands;
  hub: StreamHub;
  reads: Reads;
  waits: RunWaits;
}

/** Milliseconds between two samples of the event loop's delay. */
const LOOP_SAMPLE_MS = 20;

type Collected = { ok: true; metrics: ServerMetrics } | { ok: false; outcome: InnerOutcome };

export class MetricsEndpoint implements Endpoint {
  readonly auth = true;
  readonly #kind: CommandKind;
  readonly #sources: MetricsSources;
  readonly #failed: (exchange: Exchange, cause: unknown) => void;
  #metrics: ServerMetrics | null = null;
  #loop: IntervalHistogram | null = null;
  #collecting: Promise<Collected> | null = null;

  constructor(kind: CommandKind, sources: MetricsSources, failed: (exchange: Exchange, cause: unknown) => void) {
    this.#kind = kind;
    this.#sources = sources;
    this.#failed = failed;
  }

  serve(exchange: Exchange): void {
    const openMetrics = exchange.header("accept").includes("application/openmetrics-text");
    this.#answer(exchange, openMetrics).catch((cause: unknown) => this.#failed(exchange, cause));
  }

  async #answer(exchange: Exchange, openMetrics: boolean): Promise<void> {
    this.#collecting ??= this.#collect().finally(() => {
      this.#collecting = null;
    });
    const collected = await this.#collecting;
    if (!exchange.open) return;
    if (collected.ok) {
      const { body, type } = await collected.metrics.text(openMetrics);
      if (exchange.open) replyMetrics(exchange, type, body);
    } else if (collected.outcome.kind === "answered") replyRefused(exchange, collected.outcome.status, collected.outcome.body);
    else exchange.cut();
  }

  async #collect(): Promise<Collected> {
    this.#metrics ??= new (await import("./server-metrics.ts")).ServerMetrics();
    const core = await this.#ask((exchange) =>
      this.#sources.commands.submit(
        { kind: this.#kind, target: 0, body: null, bytes: 0, waitUs: null, idempotency: null },
        exchange,
      ),
    );
    if (core.kind !== "answered" || core.status !== 200) return { ok: false, outcome: core };
    const { getCounts } = READS;
    if (getCounts === undefined) throw new Error("no query counts runs");
    const counts = await this.#ask((exchange) => this.#sources.reads.answer(exchange, getCounts, { id: 0, name: "" }, {}));
    if (counts.kind !== "answered" || counts.status !== 200) return { ok: false, outcome: counts };
    this.#metrics.take(JSON.parse(core.body) as CoreFigures, JSON.parse(counts.body) as RunCounts, this.#own());
    return { ok: true, metrics: this.#metrics };
  }

  #ask(serve: (exchange: InnerExchange) => void): Promise<InnerOutcome> {
    return new Promise((resolve) => serve(new InnerExchange(true, resolve)));
  }

  #own(): GatewayFigures {
    const { commands, hub, waits } = this.#sources;
    const memory = process.memoryUsage();
    return {
      streamReaders: hub.size,
      stream: hub.given,
      requests: commands.size,
      runWaits: waits.size,
      loopDelay: this.#loopDelay(),
      residentBytes: memory.rss,
      heapBytes: memory.heapUsed,
    };
  }

  /** Measured from the first scrape on. */
  #loopDelay(): { mean: number; max: number } {
    if (this.#loop === null) {
      this.#loop = monitorEventLoopDelay({ resolution: LOOP_SAMPLE_MS });
      this.#loop.enable();
    }
    const { mean, max } = this.#loop;
    this.#loop.reset();
    // Node records the time between two samples; the delay is what exceeds the wanted time.
    const delay = (ns: number): number => Math.max(0, ns / 1e9 - LOOP_SAMPLE_MS / 1e3);
    return Number.isNaN(mean) ? { mean: 0, max: 0 } : { mean: delay(mean), max: delay(max) };
  }
}

/**
 * GET /metrics. Scrapers that ask during a collection share its figures, so their number does not multiply the work of the
 * core. The metrics library is loaded at the first scrape: a server without a scraper does not pay for it at its start.
 */
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
import type { GatewayFigures, MetricsText, RunCounts, ServerMetrics } from "./server-metrics.ts";

export interface MetricsSources {
  commands: OutstandingCommands;
  hub: StreamHub;
  reads: Reads;
  waits: RunWaits;
  scraped(): void;
}

/** The answer by form, true for OpenMetrics; rendered once for each form that is asked for. */
type Collected = { ok: true; text(openMetrics: boolean): Promise<MetricsText> } | { ok: false; outcome: InnerOutcome };

export class MetricsEndpoint implements Endpoint {
  readonly auth = true;
  readonly #kind: CommandKind;
  readonly #sources: MetricsSources;
  readonly #failed: (exchange: Exchange, cause: unknown) => void;
  readonly #forms = new Map<boolean, ServerMetrics>();
  #collecting: Promise<Collected> | null = null;

  constructor(kind: CommandKind, sources: MetricsSources, failed: (exchange: Exchange, cause: unknown) => void) {
    this.#kind = kind;
    this.#sources = sources;
    this.#failed = failed;
  }

  serve(exchange: Exchange): void {
    this.#sources.scraped();
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
      const { body, type } = await collected.text(openMetrics);
      if (exchange.open) replyMetrics(exchange, type, body);
    } else if (collected.outcome.kind === "answered") replyRefused(exchange, collected.outcome.status, collected.outcome.body);
    else exchange.cut();
  }

  async #collect(): Promise<Collected> {
    const { ServerMetrics } = await import("./server-metrics.ts");
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
    const figures = [JSON.parse(core.body) as CoreFigures, JSON.parse(counts.body) as RunCounts, this.#own()] as const;
    const texts = new Map<boolean, Promise<MetricsText>>();
    const text = (openMetrics: boolean): Promise<MetricsText> => {
      const metrics = this.#forms.get(openMetrics) ?? new ServerMetrics(openMetrics);
      this.#forms.set(openMetrics, metrics);
      const rendered = texts.get(openMetrics) ?? metrics.text(...figures);
      texts.set(openMetrics, rendered);
      return rendered;
    };
    return { ok: true, text };
  }

  #ask(serve: (exchange: InnerExchange) => void): Promise<InnerOutcome> {
    return new Promise((resolve) => serve(new InnerExchange(true, resolve)));
  }

  #own(): GatewayFigures {
    const { commands, hub, waits } = this.#sources;
    return {
      streamReaders: hub.size,
      stream: hub.given,
      requests: commands.size,
      runWaits: waits.size,
      acknowledgement: commands.acknowledgements.figures(),
      residentBytes: process.memoryUsage.rss(),
    };
  }
}

/**
 * Sends spans to a collector by OTLP over HTTP, with the packages of OpenTelemetry; loaded only where traces are asked for.
 * Nothing waits for the collector: while it does not take spans, further ones are dropped and counted.
 */
import { SpanKind, SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace";
import type { Span, SpanCounts, SpanRef, SpanSink } from "./span.ts";

/** Spans that may wait or be under way, about 2 kB each. */
const WAITING_MAX = 4_096;
const BATCH_MAX = 512;
const DELAY_MS = 1_000;
/** Of one request with its repetitions. */
const TIMEOUT_MS = 10_000;
/** How long the end of an engine may wait for its last spans. */
const CLOSE_MS_MAX = 2_000;
const COMPLAIN_MS = 60_000;
const PATH = "/v1/traces";

export interface SpanExportOptions {
  /** Base URL of the collector. */
  endpoint: string;
  /** Names the engine in its spans. */
  engineId: string;
  complain(text: string): void;
}

export class SpanExport implements SpanSink {
  readonly counts: SpanCounts = { exported: 0, dropped: 0 };
  readonly #options: SpanExportOptions;
  readonly #processor: BatchSpanProcessor;
  readonly #resource: ReadableSpan["resource"];
  #waiting = 0;
  #complainedMs = Number.NEGATIVE_INFINITY;
  #unsaid = 0;

  constructor(options: SpanExportOptions) {
    const { endpoint, engineId } = options;
    this.#options = options;
    const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, "")}${PATH}`, timeoutMillis: TIMEOUT_MS });
    this.#processor = new BatchSpanProcessor({
      exporter: this.#counted(exporter),
      // This class bounds what waits, because the processor does not count what it drops.
      maxQueueSize: WAITING_MAX,
      maxExportBatchSize: BATCH_MAX,
      scheduledDelayMillis: DELAY_MS,
      exportTimeoutMillis: TIMEOUT_MS + DELAY_MS,
    });
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
    this.#resource = resourceFromAttributes({ "service.name": "millrace", "service.instance.id": engineId }).merge(
      detectResources({ detectors: [envDetector] }),
    );
  }

  end(span: Span): void {
    if (this.#waiting >= WAITING_MAX) {
      this.#drop(1, "it does not take them fast enough");
      return;
    }
    this.#waiting += 1;
    this.#processor.onEnd(this.#readable(span));
  }

  /** Sends what waits, for a bounded time. */
  async close(): Promise<void> {
    const limit = Promise.withResolvers<void>();
    const timer = setTimeout(limit.resolve, CLOSE_MS_MAX);
    await Promise.race([this.#processor.forceFlush().catch(() => undefined), limit.promise]);
    clearTimeout(timer);
    if (this.#waiting > 0) this.#drop(this.#waiting, "the engine has ended");
  }

  #counted(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, done) =>
        exporter.export(spans, (result) => {
          this.#waiting -= spans.length;
          // 0: SUCCESS of ExportResultCode, which is a part of a package that is not imported here.
          if (result.code === 0) this.counts.exported += spans.length;
          else this.#drop(spans.length, result.error?.message ?? "it refused them");
          done(result);
        }),
      shutdown: () => exporter.shutdown(),
    };
  }

  #drop(spans: number, why: string): void {
    this.counts.dropped += spans;
    this.#unsaid += spans;
    const nowMs = performance.now();
    if (nowMs - this.#complainedMs < COMPLAIN_MS) return;
    this.#options.complain(`${this.#unsaid} spans for the collector ${this.#options.endpoint} were dropped: ${why}`);
    this.#complainedMs = nowMs;
    this.#unsaid = 0;
  }

  #readable(span: Span): ReadableSpan {
    const { name, parentId, attributes, events, links, error, fromUs, toUs } = span;
    const context = contextOf(span);
    return {
      name,
      kind: span.kind === "consumer" ? SpanKind.CONSUMER : SpanKind.INTERNAL,
      spanContext: () => context,
      ...(parentId !== null && {
        parentSpanContext: { ...contextOf({ ...span, spanId: parentId }), isRemote: span.parentIsRemote === true },
      }),
      startTime: hrTime(fromUs),
      endTime: hrTime(toUs),
      duration: hrTime(toUs - fromUs),
      status: error === null ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: error },
      attributes,
      events: events.map(({ name, atUs, attributes = {} }) => ({ name, time: hrTime(atUs), attributes })),
      links: links.map((ref) => ({ context: contextOf(ref) })),
      ended: true,
      resource: this.#resource,
      instrumentationScope: { name: "millrace" },
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }
}

function contextOf({ traceId, spanId }: SpanRef): ReturnType<ReadableSpan["spanContext"]> {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
}

/** Seconds and nanoseconds. */
function hrTime(us: number): [number, number] {
  return [Math.floor(us / 1_000_000), (us % 1_000_000) * 1_000];
}

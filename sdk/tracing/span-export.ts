/**
 * Sends spans to a collector by OTLP over HTTP, with the exporter of OpenTelemetry; loaded only where traces are asked for.
 * Nothing waits for the collector: while it does not take spans, further ones are dropped and counted.
 */
import { convertLegacyHttpOptions, createOtlpHttpExportDelegate } from "@opentelemetry/otlp-exporter-base/node-http";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { type Rejection, rejectionOf } from "./export-response.ts";
import type { Span, SpanAttributes, SpanCounts, SpanSink } from "./span.ts";
import { SpanBatch } from "./span-encoding.ts";

/** Spans that may wait or be under way, some 300 bytes each. */
const WAITING_MAX = 4_096;
const BATCH_MAX = 512;
const DELAY_MS = 1_000;
/** Of one request with its repetitions. */
const TIMEOUT_MS = 10_000;
/** How long the end of an engine may wait for its last spans. */
const CLOSE_MS_MAX = 2_000;
const COMPLAIN_MS = 60_000;
const PATH = "v1/traces";

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
  readonly #exporter: ReturnType<typeof httpExporter>;
  /** What the collector rejected of the batch that is under way. */
  #rejection: Rejection | null = null;
  /** Full batches, and the one that is filled. */
  #batches: SpanBatch[] = [];
  #waiting = 0;
  #sent: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #complainedMs = Number.NEGATIVE_INFINITY;
  #unsaid = 0;

  constructor(options: SpanExportOptions) {
    const { endpoint, engineId } = options;
    this.#options = options;
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
    const resource = resourceFromAttributes({ "service.name": "millrace", "service.instance.id": engineId }).merge(
      detectResources({ detectors: [envDetector] }),
    );
    this.#exporter = httpExporter(`${endpoint.replace(/\/$/, "")}/${PATH}`, resource.attributes as SpanAttributes, (response) => {
      this.#rejection = rejectionOf(response);
    });
  }

  end(span: Span): void {
    if (this.#waiting >= WAITING_MAX) {
      this.#drop(1, "it does not take them fast enough");
      return;
    }
    this.#waiting += 1;
    let batch = this.#batches.at(-1);
    if (batch === undefined || batch.count === BATCH_MAX) {
      batch = new SpanBatch();
      this.#batches.push(batch);
    }
    batch.add(span);
    this.#schedule();
  }

  /** Sends what waits, for a bounded time. */
  async close(): Promise<void> {
    const limit = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#isClosed = true;
      limit.resolve();
    }, CLOSE_MS_MAX);
    while (!this.#isClosed && this.#waiting > 0) {
      this.#send();
      await Promise.race([this.#sent, limit.promise]);
    }
    clearTimeout(timer);
    this.#isClosed = true;
    if (this.#waiting > 0) this.#drop(this.#waiting, "the engine has ended");
  }

  #schedule(): void {
    const [first] = this.#batches;
    if (first === undefined || this.#sent !== null) return;
    if (first.count === BATCH_MAX) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), DELAY_MS).unref();
  }

  /** Sends one batch, if none is under way. */
  #send(): void {
    if (this.#sent !== null) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#batches.shift();
    if (batch === undefined) return;
    this.#rejection = null;
    this.#sent = this.#export(batch).then((rejection) => {
      if (this.#isClosed) return;
      this.#sent = null;
      this.#waiting -= batch.count;
      const rejected = Math.min(rejection?.spans ?? 0, batch.count);
      this.counts.exported += batch.count - rejected;
      if (rejected > 0) this.#drop(rejected, rejection?.message || "it rejected them");
      this.#schedule();
    });
  }

  /** Returns what the collector did not take. */
  async #export(batch: SpanBatch): Promise<Rejection | null> {
    return await new Promise((resolve) =>
      this.#exporter.export(batch, ({ code, error }) => {
        // 0: SUCCESS of ExportResultCode, which is a part of a package that is not imported here.
        resolve(code === 0 ? this.#rejection : { spans: batch.count, message: error?.message ?? "" });
      }),
    );
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
}

/** Repeats requests that a collector does not take for now; headers, compression and certificates are those of the environment. */
function httpExporter(url: string, resource: SpanAttributes, answered: (response: Uint8Array) => void) {
  return createOtlpHttpExportDelegate(
    convertLegacyHttpOptions({ url, timeoutMillis: TIMEOUT_MS }, "TRACES", PATH, { "Content-Type": "application/x-protobuf" }),
    {
      serializeRequest: (batch: SpanBatch) => batch.request(resource),
      deserializeResponse: (response: Uint8Array) => {
        answered(response);
        return {};
      },
    },
    "otlp_http_span_exporter",
    { name: "span", countItems: ({ count }) => count },
    undefined,
  );
}

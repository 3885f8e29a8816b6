/** A span as the tracer of a run makes it; span-encoding.ts turns it into that of OpenTelemetry. */

/** Texts, and whole numbers that are not negative. */
export type SpanAttributes = Record<string, string | number>;

export interface SpanEvent {
  name: string;
  atUs: number;
  attributes?: SpanAttributes;
}

/** A span that another one refers to. */
export interface SpanRef {
  traceId: string;
  spanId: string;
}

export interface Span extends SpanRef {
  name: string;
  /** True for a span of another process, which created the run. */
  parentIsRemote: boolean;
  parentId: string | null;
  /** "consumer" takes work that another process has created. */
  kind: "internal" | "consumer";
  /** Microseconds since the Unix epoch. */
  fromUs: number;
  toUs: number;
  /** Attributes that all spans of a run have: one object for each run. */
  run: SpanAttributes;
  /** Those of this span alone. */
  attributes: SpanAttributes;
  events: SpanEvent[];
  links: readonly SpanRef[];
  /** Why what the span covers failed; null for success. */
  error: string | null;
}

/** Spans that a collector took, and those that were dropped. */
export interface SpanCounts {
  exported: number;
  dropped: number;
}

export interface SpanSink {
  end(span: Span): void;
}

/** Decides which runs of an engine are traced. */
import type { WorkItem } from "#protocol/records/engine";
import { readTraceparent } from "#protocol/values/traceparent";
import { RunTrace } from "./run-trace.ts";
import type { SpanSink } from "./span.ts";

/** Digits of a run's external id that decide, of its random part. */
const DRAWN_DIGITS = 8;
const DRAWN_RANGE = 16 ** DRAWN_DIGITS;

/** How the runs of an engine are traced. */
export interface TraceSettings {
  /** Base URL of a collector that takes OTLP over HTTP. */
  endpoint: string;
  /** The share of runs without a trace of their creator that begin one, from 0 to 1. */
  sampleRatio: number;
}

export class Tracer {
  readonly #sink: SpanSink;
  readonly #sampleRatio: number;

  constructor(sink: SpanSink, sampleRatio: number) {
    this.#sink = sink;
    this.#sampleRatio = sampleRatio;
  }

  /**
   * The trace of a run that begins or goes on: its creator decides, else the ratio. Without a creator's trace, the first part of
   * a run has the digits of its external id as trace id.
   */
  begin(item: WorkItem, nowUs: number): RunTrace | null {
    const part = item.progress?.trace != null;
    const parent = item.traceparent === undefined ? null : readTraceparent(item.traceparent);
    if (parent !== null) return parent.sampled ? new RunTrace(this.#sink, item, part ? null : parent, nowUs) : null;
    return this.#draws(item) ? new RunTrace(this.#sink, item, null, nowUs) : null;
  }

  #draws({ external_id }: WorkItem): boolean {
    return Number.parseInt(external_id.slice(-DRAWN_DIGITS), 16) / DRAWN_RANGE < this.#sampleRatio;
  }
}

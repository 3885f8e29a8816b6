/** What a collector says of the spans of a request that it took: the partial success of OTLP. */
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";

/** Spans that a collector rejected. */
export interface Rejection {
  spans: number;
  /** May be empty. */
  message: string;
}

/** Null where all spans were taken, and for what is no such response: the status of the answer says that the request was taken. */
export function rejectionOf(response: Uint8Array): Rejection | null {
  try {
    const { rejectedSpans = 0, errorMessage = "" } = ProtobufTraceSerializer.deserializeResponse(response).partialSuccess ?? {};
    return rejectedSpans === 0 ? null : { spans: rejectedSpans, message: errorMessage };
  } catch {
    return null;
  }
}

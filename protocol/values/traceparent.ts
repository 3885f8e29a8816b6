/** The header `traceparent` of W3C Trace Context (https://www.w3.org/TR/trace-context/): the span that caused a request. */

/** The position of a request in a trace. */
export interface TraceParent {
  /** 32 digits in lower-case hexadecimal. */
  traceId: string;
  /** 16 digits in lower-case hexadecimal. */
  spanId: string;
  /** Whether the caller records the trace. */
  sampled: boolean;
}

/** Later versions may be longer, and begin like version 00. */
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_TRACE = "0".repeat(32);
const NO_SPAN = "0".repeat(16);
const SAMPLED = 1;

/** Null for a text that is no valid header: as the standard demands, the header is then ignored. */
export function readTraceparent(text: string): TraceParent | null {
  const [, version, traceId = "", spanId = "", flags = "", more] = FORM.exec(text) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return null;
  if (traceId === NO_TRACE || spanId === NO_SPAN) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

/** The header in version 00. */
export function traceparentOf({ traceId, spanId, sampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-0${sampled ? 1 : 0}`;
}

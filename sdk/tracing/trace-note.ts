/** What the code of a traced run knows of its trace, and what it tells the tracer beside what it reports. */
import { readTraceparent, traceparentOf } from "#protocol/values/traceparent";

export type TraceNote =
  /** Code of a task run calls another task. Both are named by their external ids. */
  | { kind: "call"; task: string; caller: string }
  /** A wait of a durable flow is over. Times are microseconds by the clock of the server. */
  | { kind: "wait"; name: string; wait: string; fromUs: number; toUs: number };

/** The trace of a run as its code sees it. */
export interface CodeTrace {
  /** The header for what the flow's function calls. */
  readonly header: string;
  /** Whether its spans are recorded. */
  readonly isSampled: boolean;
  note(note: TraceNote): void;
  /** Calls code with the span of this header as the active one of OpenTelemetry; null where the code does not use that. */
  readonly within: (<T>(header: string, code: () => T) => T) | null;
}

/** The header for what a task run calls. */
export function headerOfTask(header: string, externalId: string): string {
  const parent = readTraceparent(header);
  return parent?.sampled === true ? traceparentOf({ ...parent, spanId: spanIdOfTask(externalId) }) : header;
}

/** The header for what a run calls that is not traced: what it calls is not traced either. */
export function untracedHeader(externalId: string): string {
  return traceparentOf({ traceId: traceIdOfRun(externalId), spanId: spanIdOfTask(externalId), sampled: false });
}

/** The trace of the first part of a run that no other trace has caused. */
export function traceIdOfRun(externalId: string): string {
  return externalId.replaceAll("-", "");
}

/** The id of a task run's span: its last 64 bits, which are random (UUID version 7). */
export function spanIdOfTask(externalId: string): string {
  return externalId.slice(19, 23) + externalId.slice(24);
}

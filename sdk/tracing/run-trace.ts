/**
 * The spans of one run, made on the control thread from what the run reports, so that they also end when its code ends its thread.
 * A run has a span for the part that this engine executes, in it one for each attempt, and in an attempt one for each task run
 * and each wait. A part that follows a park begins a trace of its own, which links to the part before: a trace that lasts days
 * is more than most collectors keep together.
 */
import { randomFillSync } from "node:crypto";
import type { ParkProgress } from "#protocol/records/durable";
import type { WorkItem } from "#protocol/records/engine";
import { isTerminal, type State } from "#protocol/records/state";
import { readTraceparent, type TraceParent, traceparentOf } from "#protocol/values/traceparent";
import type { ReportItem } from "../execution/report-item.ts";
import type { Span, SpanAttributes, SpanEvent, SpanRef, SpanSink } from "./span.ts";
import { spanIdOfTask, type TraceNote, traceIdOfRun } from "./trace-note.ts";

/** Events of one span, and links to the task runs that a task run has waited for. */
const EVENTS_MAX = 32;
const LINKS_MAX = 32;
/** A task run that runs this soon after its creation has waited for nothing. */
const AT_ONCE_US = 1_000;

/** How an attempt or a task run failed. */
export interface SpanFailure {
  message: string;
  /** Name of the error's class. */
  exception?: string;
  traceback?: string;
}

/** What the next part of a run needs of this one. */
export type PartTrace = NonNullable<ParkProgress["trace"]>;

export class RunTrace {
  readonly #sink: SpanSink;
  readonly #facts: SpanAttributes;
  readonly #part: Span;
  readonly #before: { ref: SpanRef; endUs: number } | null;
  /** Task runs that have not ended, by external id. */
  readonly #tasks = new Map<string, Span>();
  /** Callers of task runs that are not reported yet. */
  readonly #callers = new Map<string, string>();
  #attempt: Span | null = null;
  /** Waits that ended earlier were recorded by an earlier part or attempt. */
  #waitsFromUs: number;

  /** @param parent the span that caused this part, null for the first of a new trace */
  constructor(sink: SpanSink, item: WorkItem, parent: TraceParent | null, nowUs: number) {
    const before = item.progress?.trace == null ? null : readTraceparent(item.progress.trace.traceparent);
    this.#sink = sink;
    this.#before = before === null ? null : { ref: before, endUs: item.progress?.trace?.at ?? 0 };
    this.#waitsFromUs = this.#before?.endUs ?? 0;
    this.#facts = { "millrace.project": item.project, "millrace.flow": item.flow, "millrace.run.id": item.run_id };
    this.#part = {
      name: `${item.project}/${item.flow}`,
      traceId: parent?.traceId ?? (before === null ? traceIdOfRun(item.external_id) : newTraceId()),
      spanId: newSpanId(),
      parentId: parent?.spanId ?? null,
      parentIsRemote: parent !== null,
      kind: "consumer",
      fromUs: nowUs,
      toUs: nowUs,
      run: this.#facts,
      attributes: { "millrace.run.name": item.run_name, "millrace.run.external_id": item.external_id },
      events: [],
      links: before === null ? [] : [before],
      error: null,
    };
  }

  /** An attempt begins or goes on; returns the header for what its code calls. */
  beginAttempt(attempt: number, nowUs: number): string {
    this.#attempt = this.#child(`attempt ${attempt}`, newSpanId(), this.#part.spanId, nowUs, { "millrace.attempt": attempt });
    return headerOf(this.#attempt);
  }

  observe(items: readonly ReportItem[]): void {
    for (const item of items) {
      if (item.kind === "task_run_created") this.#createTask(item);
      else if (item.kind === "task_run_transition") this.#moveTask(item.external_id, item.state);
    }
  }

  note(note: TraceNote): void {
    if (note.kind === "call") this.#callers.set(note.task, note.caller);
    else this.#addWait(note);
  }

  /** @param failure why the attempt failed; null if it did not */
  endAttempt(failure: SpanFailure | null, nowUs: number): void {
    const attempt = this.#attempt;
    this.#attempt = null;
    this.#callers.clear();
    this.#waitsFromUs = nowUs;
    if (attempt === null) return;
    if (failure !== null) attempt.events.push(exceptionEvent(failure, nowUs));
    this.#end(attempt, nowUs, failure?.message ?? null);
  }

  /** The run has reached its last state; null if its server has or wants none of this engine. */
  end(state: State | null, nowUs: number): void {
    this.#part.attributes["millrace.state"] = state?.name ?? "Gone";
    this.#close(nowUs, state === null ? null : failureOf(state));
  }

  /** The run leaves this engine until one of its waits is over. */
  park(nowUs: number): PartTrace {
    this.#part.attributes["millrace.state"] = "Parked";
    this.#close(nowUs, null);
    return { traceparent: headerOf(this.#part), at: nowUs };
  }

  #close(nowUs: number, failure: SpanFailure | null): void {
    for (const task of this.#tasks.values()) this.#end(task, nowUs, null);
    this.#tasks.clear();
    this.endAttempt(failure, nowUs);
    this.#end(this.#part, nowUs, failure?.message ?? null);
  }

  #createTask({ external_id: id, name, dynamic_key, parents }: ReportItem & { kind: "task_run_created" }): void {
    const caller = this.#callers.get(id);
    const parent = caller === undefined ? (this.#attempt ?? this.#part).spanId : spanIdOfTask(caller);
    const links = parents.slice(0, LINKS_MAX).map((each) => ({ traceId: this.#part.traceId, spanId: spanIdOfTask(each) }));
    this.#callers.delete(id);
    const attributes = { "millrace.task": name, "millrace.task.key": dynamic_key, "millrace.task.external_id": id };
    this.#tasks.set(id, this.#child(name, spanIdOfTask(id), parent, 0, attributes, links));
  }

  #moveTask(id: string, state: State): void {
    const task = this.#tasks.get(id);
    if (task === undefined) return;
    // The first move follows the creation.
    if (task.fromUs === 0) task.fromUs = state.timestamp;
    if (!isTerminal(state.type)) {
      const beginsAtOnce = state.type === "Running" && task.events.length === 0 && state.timestamp - task.fromUs < AT_ONCE_US;
      if (state.type !== "Pending" && !beginsAtOnce && task.events.length < EVENTS_MAX)
        task.events.push({ name: state.name, atUs: state.timestamp });
      return;
    }
    this.#tasks.delete(id);
    task.attributes["millrace.state"] = state.name;
    const failure = failureOf(state);
    if (failure !== null) task.events.push(exceptionEvent(failure, state.timestamp));
    this.#end(task, state.timestamp, failure?.message ?? null);
  }

  /** A wait that ended while the run was away belongs to the trace in which it began. */
  #addWait({ name, wait, fromUs, toUs }: TraceNote & { kind: "wait" }): void {
    if (toUs < this.#waitsFromUs) return;
    const away = fromUs < this.#part.fromUs ? this.#before?.ref : undefined;
    const parent = away ?? { traceId: this.#part.traceId, spanId: (this.#attempt ?? this.#part).spanId };
    const span = this.#child(name, newSpanId(), parent.spanId, fromUs, { "millrace.wait": wait });
    span.traceId = parent.traceId;
    this.#end(span, toUs, null);
  }

  #child(
    name: string,
    spanId: string,
    parentId: string,
    fromUs: number,
    attributes: SpanAttributes,
    links: readonly SpanRef[] = [],
  ): Span {
    return {
      name,
      traceId: this.#part.traceId,
      spanId,
      parentId,
      parentIsRemote: false,
      kind: "internal",
      fromUs,
      toUs: fromUs,
      run: this.#facts,
      attributes,
      events: [],
      links,
      error: null,
    };
  }

  #end(span: Span, nowUs: number, error: string | null): void {
    span.toUs = Math.max(nowUs, span.fromUs);
    span.error = error;
    this.#sink.end(span);
  }
}

/** Null for a state that is no failure. */
function failureOf({ type, message, name, details }: State): SpanFailure | null {
  if (type !== "Failed" && type !== "Crashed") return null;
  const { exception, traceback } = details;
  return {
    message: message ?? name,
    ...(typeof exception === "string" && { exception }),
    ...(typeof traceback === "string" && { traceback }),
  };
}

/** As the conventions of OpenTelemetry name an error ("Exceptions on spans"). */
function exceptionEvent({ message, exception, traceback }: SpanFailure, atUs: number): SpanEvent {
  const attributes: SpanAttributes = { "exception.message": message };
  if (exception !== undefined) attributes["exception.type"] = exception;
  if (traceback !== undefined) attributes["exception.stacktrace"] = traceback;
  return { name: "exception", atUs, attributes };
}

/** The header for what the code of a span calls. */
function headerOf({ traceId, spanId }: SpanRef): string {
  return traceparentOf({ traceId, spanId, sampled: true });
}

function newTraceId(): string {
  return randomDigits(16);
}

function newSpanId(): string {
  return randomDigits(8);
}

/** Random bytes cost a call of the system each time they are asked for, so many are made at once. */
const pool = Buffer.alloc(1_024);
let taken = pool.length;

function randomDigits(bytes: number): string {
  if (taken + bytes > pool.length) {
    randomFillSync(pool);
    taken = 0;
  }
  taken += bytes;
  return pool.toString("hex", taken - bytes, taken);
}

/** The live stream: one iterable over many connections; every gap is reported. */

import type { StreamQuery } from "#protocol/records/server";
import { MillraceError, refusal } from "./error.ts";
import { type Frame, readFrames } from "./event-stream.ts";
import { type Http, pause, type Query } from "./http.ts";
import type {
  ArtifactRow,
  BackfillCreated,
  BackfillUpdated,
  Deleted,
  Event,
  ExpectationMessage,
  Flow,
  LogAppended,
  Loose,
  RuleRow,
  Run,
  ScheduleRow,
  TaskRun,
  VariableRow,
} from "./records.ts";

/** The data of each message (interface: "Stream messages"). */
export interface StreamData {
  /** The connection is open. `latest` is the newest number of the server. */
  hello: { latest: number; since: number };
  /** Messages were lost for good: fetch everything that is shown again. */
  resync: { latest: number };
  /** A run was created, changed or deleted. */
  "run.updated": Run | Deleted;
  /** A task run was created or changed. */
  "task_run.updated": TaskRun;
  /** Log lines of a run were stored. */
  "log.appended": LogAppended;
  /** An event was recorded. */
  "event.created": Event;
  /** A flow was registered or changed. */
  "flow.registered": Flow;
  /** A rule was created, changed or deleted. */
  "rule.updated": RuleRow | Deleted;
  /** A variable was created, changed or deleted. */
  "variable.updated": VariableRow | { name: string; deleted: true };
  /** An artifact was published or replaced. */
  "artifact.updated": ArtifactRow;
  /** A schedule was created, changed or deleted. */
  "schedule.updated": ScheduleRow | Deleted;
  /** A backfill has created its runs. */
  "backfill.created": BackfillCreated;
  /** Runs of a backfill were cancelled. */
  "backfill.updated": BackfillUpdated;
  /** A rule began to wait for an event. */
  "expectation.armed": ExpectationMessage;
  /** The event that a rule waited for has happened. */
  "expectation.met": ExpectationMessage;
  /** The event that a rule waited for did not happen in time. */
  "expectation.lapsed": ExpectationMessage;
}

/** One message; `event` determines the type of `data`. `seq` is null for hello and for a resync detected by the client. */
export type StreamMessage = {
  [Name in keyof StreamData]: { event: Name; seq: number | null; data: StreamData[Name] };
}[keyof StreamData];

/**
 * What to receive; the parts combine with AND. `kinds` are message names (`hello` and `resync` always come), `names` are names of
 * events or prefixes ending in `*`. With `snapshot` and `run_id`, the run as it is now comes after `hello` and each `resync`.
 */
export type StreamFilter = Loose<Omit<StreamQuery, "since" | "kinds" | "snapshot">> & {
  kinds?: readonly Exclude<keyof StreamData, "hello" | "resync">[] | undefined;
  snapshot?: boolean | undefined;
};

/** Options of `stream`. */
export interface StreamOptions extends StreamFilter {
  /** Number of the last message seen; later messages are replayed. Default: from now on. */
  since?: number | undefined;
  /** Ends the iteration without an error. */
  signal?: AbortSignal | undefined;
  /** How long to keep trying while the server cannot be reached, in ms; then the failure is thrown. Default: for ever. */
  retryForMs?: number | undefined;
}

const BACKOFF_FIRST_MS = 100;
const BACKOFF_MAX_MS = 5_000;
/** The server sends at least a comment every 15 s; after three missed ones the connection counts as dead. */
const SILENCE_MAX_MS = 45_000;

/**
 * Messages from a number on. After a broken connection the iteration continues after the last message seen. If the server
 * cannot replay from there (too old, or restarted), it sends a `resync` message.
 * @throws MillraceError for an answer that a retry would not change (401, 400), or when retryForMs has passed.
 */
export async function* followStream(http: Http, options: StreamOptions): AsyncGenerator<StreamMessage> {
  const { signal } = options;
  const filter = queryOf(options);
  let since = options.since;
  let failures = 0;
  let failingSinceMs: number | null = null;
  while (!signal?.aborted) {
    try {
      for await (const message of connection(http, { since, ...filter }, signal)) {
        failures = 0;
        failingSinceMs = null;
        if (message.event === "hello") {
          const behind = since !== undefined && message.data.latest < since;
          if (since === undefined || behind) since = message.data.latest;
          yield message;
          if (behind) yield { event: "resync", seq: null, data: { latest: message.data.latest } };
          continue;
        }
        since = message.event === "resync" ? message.data.latest : Math.max(since ?? 0, message.seq ?? 0);
        yield message;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!worthAnotherTry(error)) throw error;
      failingSinceMs ??= Date.now();
      if (Date.now() - failingSinceMs >= (options.retryForMs ?? Number.POSITIVE_INFINITY)) throw error;
    }
    http.forget();
    const waitMs = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** failures) * (0.5 + Math.random() / 2);
    failures += 1;
    await pause(waitMs, signal).catch(() => {});
  }
}

function queryOf({ run_id, flow_id, project, tags, parameters, kinds, names, snapshot }: StreamFilter): Query {
  return { run_id, flow_id, project, tags, parameters, kinds, names, snapshot: snapshot === true ? 1 : undefined };
}

/** The messages of one connection, until it ends. */
async function* connection(http: Http, query: Query, signal: AbortSignal | undefined): AsyncGenerator<StreamMessage> {
  const silence = new AbortController();
  const ends = signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]);
  let timer = setTimeout(() => silence.abort(), SILENCE_MAX_MS);
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENCE_MAX_MS);
  };
  // The caller may never ask for another message, and this generator then never reaches its end.
  ends.addEventListener("abort", () => clearTimeout(timer));
  try {
    const answer = await http.open("GET", "/api/stream", { query, signal: ends });
    if (answer.status !== 200) throw refusal("GET", "/api/stream", answer.status, await answer.text());
    for await (const frame of readFrames(listening(answer.chunks(), heard))) {
      const message = messageOf(frame, http.parse);
      if (message !== null) yield message;
    }
  } finally {
    clearTimeout(timer);
  }
}

/** The body's bytes. A connection that breaks in the middle is distinguished from a defect of this code. */
async function* listening(chunks: AsyncIterable<Uint8Array>, heard: () => void): AsyncGenerator<Uint8Array> {
  const source = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await source.next().catch((cause: unknown) => {
        throw new MillraceError("the stream broke", { reason: "cut", status: 0, path: "/api/stream", cause });
      });
      if (next.done === true) return;
      heard();
      yield next.value;
    }
  } finally {
    await source.return?.();
  }
}

function messageOf(frame: Frame, parse: (text: string) => unknown): StreamMessage | null {
  try {
    const seq = frame.id === null ? null : Number(frame.id);
    return { event: frame.event, seq, data: parse(frame.data) } as StreamMessage;
  } catch {
    return null;
  }
}

/** A refusal is final, except temporary ones: too many requests, and errors of the server itself. */
function worthAnotherTry(error: unknown): boolean {
  return error instanceof MillraceError && (error.status === 0 || error.status === 429 || error.status >= 500);
}

/**
 * GET: queries on the store, here or in the reader pool (see read-table.ts), and the rows of stream messages.
 *
 * Both see every commit that the feed has announced, so a client reads its own writes.
 */
import { availableParallelism } from "node:os";
import type { HeapInfo } from "node:v8";
import { type Refusal, refuse } from "#protocol/errors";
import { ANSWER_PART_BYTES_MAX, WHOLE_ANSWER_BYTES_MAX } from "#protocol/limits";
import { parseQuery } from "#protocol/routes/query";
import type { Route } from "#protocol/routes/route";
import { callbackTokenHash } from "#protocol/values/callback-token";
import type { CommandKind } from "#protocol/wire/command";
import type { StreamKind } from "#protocol/wire/feed";
import type { AnswerPart } from "#storage/queries/answer-part";
import { isCallbackOpen } from "#storage/queries/durable-pages";
import { eventNames, messageSubject, runSubjects } from "#storage/queries/message-subject";
import { messageTexts } from "#storage/queries/message-texts";
import { type QueryArguments, type QueryName, runPart, runQuery } from "#storage/queries/named";
import { runHasEnded } from "#storage/queries/run-record";
import { AwaitedQueries, EXCEEDED } from "#storage/read/awaited-queries";
import { openReadHandle } from "#storage/read/read-handle";
import { READ_LIMIT_MS, REPORT_HEAP_MB_MAX, ReadPool } from "#storage/read/read-pool";
import { Statements } from "#storage/sqlite/statements";
import { StorageError } from "#storage/sqlite/storage-error";
import type { Endpoint, ParsedLargeBody } from "../request/endpoint.ts";
import { type PathValue, readPathValue } from "../request/path-value.ts";
import { reply, replyRefusal } from "../request/reply.ts";
import type { MessageRows } from "../stream/stream-ring.ts";
import { type SentPart, StreamedAnswer, UnsentBytes } from "../transport/streamed-answer.ts";
import type { Exchange } from "../transport/transport-port.ts";
import { READS, type Read } from "./read-table.ts";

/** After a large answer, a query is sent to the readers for this long. */
const LARGE_FOR_MS = 10_000;
/** How long the messages of the stream wait for a database that does not answer: no other connection is served meanwhile. */
const PATIENCE_MS = 5_000;
/** More readers than this only compete for the same pages. */
const READER_THREADS_MAX = 4;

/** Rows of stream messages, by kind: the same queries as for GET. */
export const ROWS: Partial<Record<StreamKind, QueryName>> = {
  "run.updated": "run",
  "task_run.updated": "task_run",
  "event.created": "event",
  "flow.registered": "flow",
  "artifact.updated": "artifact",
  "schedule.updated": "schedule",
  "rule.updated": "rule",
  "expectation.armed": "expectation_armed",
  "expectation.met": "expectation_met",
  "expectation.lapsed": "expectation_lapsed",
  "variable.updated": "variable",
  "backfill.created": "backfill_created",
  "backfill.updated": "backfill_updated",
};

export interface ReadsPorts {
  /** Called for a read that cannot be answered, or whose answer cannot be completed. */
  failed(exchange: Exchange, cause: unknown): void;
  /** Reports a defect that costs one large body. */
  defect(cause: unknown): void;
}

export class Reads {
  readonly #statements: Statements;
  readonly #pool: ReadPool;
  readonly #bodyPool: ReadPool;
  readonly #ports: ReadsPorts;
  readonly #unsent = new UnsentBytes();
  /** Queries whose last answer here exceeded one part, and until when the readers run them. */
  readonly #largeUntilMs = new Map<QueryName, number>();
  /** With PostgreSQL: queries are awaited here, because a round trip that blocks would hold up all connections. */
  readonly #awaited: AwaitedQueries | null;
  #live: readonly number[] = [];

  constructor(path: string, ports: ReadsPorts) {
    this.#statements = new Statements(openReadHandle(path, null, PATIENCE_MS));
    this.#awaited = this.#statements.database.kind === "postgres" ? new AwaitedQueries({ connectionString: path }) : null;
    this.#pool = new ReadPool({ path, threads: Math.min(READER_THREADS_MAX, Math.max(1, availableParallelism() - 1)) });
    // One thread: large bodies are rare, and parsing one takes much memory.
    this.#bodyPool = new ReadPool({ path, threads: 1, heapMb: REPORT_HEAP_MB_MAX });
    this.#ports = ports;
  }

  /** The heaps of the reader threads. */
  async heaps(): Promise<HeapInfo[]> {
    return (await Promise.all([this.#pool.heaps(), this.#bodyPool.heaps()])).flat();
  }

  /** Flows that the running server has registered from code. */
  setLive(ids: readonly number[]): void {
    this.#live = ids;
  }

  endpoint(route: Route): Endpoint {
    const read = READS[route.operation];
    if (read === undefined) throw new Error(`no query answers ${route.method} ${route.path}`);
    return new ReadEndpoint(route, read, this);
  }

  /** JSON of a row for the stream, or null for a deleted row. */
  renderRow(kind: StreamKind, id: number | string): string | null {
    const name = ROWS[kind];
    if (name === undefined) return null;
    return runQuery(this.#statements, name, {
      id: Number(id),
      name: String(id),
      ...this.#context(),
    } as QueryArguments[typeof name]);
  }

  /** Null for an unknown run. */
  runHasEnded(id: number): boolean | null {
    return runHasEnded(this.#statements, id);
  }

  /** The rows behind the messages of the stream. */
  messageRows(): MessageRows {
    const statements = this.#statements;
    return {
      render: (kind, id) => this.renderRow(kind, id),
      subject: (kind, id) => messageSubject(statements, kind, id),
      texts: (kind, ids) => messageTexts(statements, kind, ids),
      subjects: (runs) => runSubjects(statements, runs),
      eventNames: (ids) => eventNames(statements, ids),
    };
  }

  /**
   * Answers a GET. A query that runs here makes the first part; readers make the others. `lengthMax` ends pages earlier than
   * the interface's own limit.
   */
  answer(
    exchange: Exchange,
    read: Read,
    { id, name }: PathValue,
    query: Readonly<Record<string, unknown>>,
    lengthMax?: number,
  ): void {
    const asked = read.arguments(id, query as never, { ...this.#context(), name });
    const args = lengthMax === undefined ? asked : { ...asked, length_max: lengthMax };
    const missing = () => replyRefusal(exchange, read.missing(id, name));
    if (this.#isCheap(read, query)) {
      const part = this.#partMadeHere(read.query, runPart(this.#statements, read.query, args));
      if (part === null) missing();
      else this.#send(exchange, part);
      return;
    }
    this.#firstPart(read.query, args).then(
      (part) => (part === null ? missing() : this.#send(exchange, part)),
      (cause: unknown) => this.#fail(exchange, cause),
    );
  }

  /** Whether a callback with this token waits for its answer. */
  isCallbackOpen(token: string): boolean {
    return isCallbackOpen(this.#statements, callbackTokenHash(token));
  }

  /** Checks and slices a large body in a thread. */
  async sliceBody(kind: CommandKind, text: SharedArrayBuffer): Promise<ParsedLargeBody> {
    try {
      const sliced = await this.#bodyPool.sliceBody(kind, text);
      if (!sliced.ok) return { ok: false, refusal: refuse(sliced.code, sliced.detail) };
      return { ok: true, value: sliced.body, digest: sliced.digest };
    } catch (cause) {
      this.#ports.defect(cause);
      return { ok: false, refusal: refuse("busy") };
    }
  }

  async close(): Promise<void> {
    this.#awaited?.close();
    await Promise.all([this.#pool.close(), this.#bodyPool.close()]);
    this.#statements.database.close();
  }

  #context() {
    return { live: this.#live, now_us: Date.now() * 1000 };
  }

  #isCheap(read: Read, query: Readonly<Record<string, unknown>>): boolean {
    return this.#awaited === null && read.here(query) && !this.#isLarge(read.query);
  }

  #isLarge(name: QueryName): boolean {
    return (this.#largeUntilMs.get(name) ?? 0) >= Date.now();
  }

  #noteLarge(name: QueryName): void {
    this.#largeUntilMs.set(name, Date.now() + LARGE_FOR_MS);
  }

  /** From a part made on this thread. */
  #partMadeHere<N extends QueryName>(name: N, part: AnswerPart<QueryArguments[N]> | null): SentPart | null {
    if (part === null) return null;
    if (part.next !== null || part.text.length >= ANSWER_PART_BYTES_MAX) this.#noteLarge(name);
    return { body: part.text, next: this.#continuation(name, part.next) };
  }

  async #firstPart<N extends QueryName>(name: N, args: QueryArguments[N]): Promise<SentPart | null> {
    if (this.#awaited !== null && !this.#isLarge(name)) {
      const part = await this.#awaited.run(name, args);
      if (part !== EXCEEDED) return this.#partMadeHere(name, part);
      this.#noteLarge(name);
    }
    return await this.#readPart(name, args);
  }

  #send(exchange: Exchange, part: SentPart): void {
    const { body, next } = part;
    if (next === null && body.length <= WHOLE_ANSWER_BYTES_MAX) reply(exchange, 200, body);
    else if (this.#unsent.exhausted) replyRefusal(exchange, refuse("busy"));
    else StreamedAnswer.begin(exchange, { unsent: this.#unsent, failed: this.#ports.failed }, part);
  }

  async #readPart<N extends QueryName>(name: N, args: QueryArguments[N]): Promise<SentPart | null> {
    const part = await this.#pool.run(name, args);
    return part === null ? null : { body: part.bytes, next: this.#continuation(name, part.next) };
  }

  #continuation<N extends QueryName>(name: N, next: QueryArguments[N] | null): SentPart["next"] {
    if (next === null) return null;
    return async () => {
      const part = await this.#readPart(name, next);
      if (part === null) throw new Error(`what ${name} is about was deleted while its answer was made`);
      return part;
    };
  }

  #fail(exchange: Exchange, cause: unknown): void {
    const fault = cause instanceof StorageError ? cause.fault : null;
    if (fault === "queue") replyRefusal(exchange, refuse("busy"));
    else if (fault === "unreachable" && cause instanceof Error) replyRefusal(exchange, refuse("store_unreadable", cause.message));
    else if (fault === "query") replyRefusal(exchange, refuse("read_too_long", READ_LIMIT_MS));
    else this.#ports.failed(exchange, cause);
  }
}

const NO_QUERY = {};

class ReadEndpoint implements Endpoint {
  readonly auth: boolean;
  readonly #route: Route;
  readonly #read: Read;
  readonly #reads: Reads;

  constructor(route: Route, read: Read, reads: Reads) {
    this.auth = route.auth;
    this.#route = route;
    this.#read = read;
    this.#reads = reads;
  }

  serve(exchange: Exchange, values: readonly string[]): void {
    const refusal = this.#tryServe(exchange, values);
    if (refusal !== null) replyRefusal(exchange, refusal);
  }

  #tryServe(exchange: Exchange, values: readonly string[]): Refusal | null {
    const value = readPathValue(this.#route, values);
    if (!value.ok) return value.refusal;
    let query: Readonly<Record<string, unknown>> = NO_QUERY;
    if (this.#route.query !== undefined) {
      const parsed = parseQuery(this.#route.query, exchange.query);
      if (!parsed.ok) return parsed.refusal;
      query = parsed.query as Record<string, unknown>;
    }
    this.#reads.answer(exchange, this.#read, value, query);
    return null;
  }
}

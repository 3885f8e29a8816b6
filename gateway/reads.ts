/**
 * GET: queries on the store, here or in the reader pool (read-table.ts says which), and the rows of stream messages.
 *
 * Both see every commit that the feed has announced, so a client reads what it has written.
 */
import { availableParallelism } from "node:os";
import { type Refusal, refuse } from "#protocol/errors";
import type { StreamKind } from "#protocol/feed";
import { parseQuery } from "#protocol/query";
import type { SlicedReport } from "#protocol/report-slices";
import type { Route } from "#protocol/route";
import { type QueryArguments, type QueryName, runQuery } from "#storage/queries/named";
import { openReadHandle } from "#storage/read-handle";
import { REPORT_HEAP_MB_MAX, ReadPool } from "#storage/read-pool";
import { Statements } from "#storage/statements";
import { StorageError } from "#storage/storage-error";
import type { Endpoint } from "./endpoint.ts";
import { type PathValue, readPathValue } from "./path-value.ts";
import { READS, type Read } from "./read-table.ts";
import { reply, replyDefect, replyRefusal } from "./reply.ts";
import type { Exchange } from "./transport-port.ts";

/** More readers than this only fight over the same pages. */
const READER_THREADS_MAX = 4;

/** Rows of stream messages, by kind: the same queries as for GET. */
const ROWS: Partial<Record<StreamKind, QueryName>> = {
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

export class Reads {
  readonly #statements: Statements;
  readonly #pool: ReadPool;
  readonly #reportPool: ReadPool;
  readonly #defect: (cause: unknown) => void;
  #live: readonly number[] = [];

  constructor(path: string, defect: (cause: unknown) => void) {
    this.#statements = new Statements(openReadHandle(path));
    this.#pool = new ReadPool({ path, threads: Math.min(READER_THREADS_MAX, Math.max(1, availableParallelism() - 1)) });
    // One thread: large reports are rare, and each takes much memory while it is parsed.
    this.#reportPool = new ReadPool({ path, threads: 1, heapMb: REPORT_HEAP_MB_MAX });
    this.#defect = defect;
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

  /** JSON of a row for the stream, or null when it has gone. */
  renderRow(kind: StreamKind, id: number | string): string | null {
    const name = ROWS[kind];
    if (name === undefined) return null;
    return runQuery(this.#statements, name, {
      id: Number(id),
      name: String(id),
      ...this.#context(),
    } as QueryArguments[typeof name]);
  }

  /** Answers a GET. */
  answer(exchange: Exchange, read: Read, { id, name }: PathValue, query: Readonly<Record<string, unknown>>): void {
    const args = read.arguments(id, query as never, { ...this.#context(), name });
    if (read.here(query)) {
      this.#finish(exchange, read, { id, name }, runQuery(this.#statements, read.query, args));
      return;
    }
    this.#pool.run(read.query, args).then(
      (bytes) => this.#finish(exchange, read, { id, name }, bytes),
      (cause: unknown) => this.#fail(exchange, cause),
    );
  }

  /** Checks and cuts up a large report in a thread of its own. */
  async sliceReport(text: SharedArrayBuffer): Promise<{ ok: true; value: SlicedReport } | { ok: false; refusal: Refusal }> {
    try {
      const sliced = await this.#reportPool.sliceReport(text);
      return sliced.ok ? { ok: true, value: sliced.report } : { ok: false, refusal: refuse(sliced.code, sliced.detail) };
    } catch (cause) {
      this.#defect(cause);
      return { ok: false, refusal: refuse("busy") };
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.close(), this.#reportPool.close()]);
    this.#statements.database.close();
  }

  #context() {
    return { live: this.#live, now_us: Date.now() * 1000 };
  }

  #finish(exchange: Exchange, read: Read, { id, name }: PathValue, body: string | Uint8Array | null): void {
    if (body === null) replyRefusal(exchange, read.missing(id, name));
    else reply(exchange, 200, body);
  }

  #fail(exchange: Exchange, cause: unknown): void {
    if (cause instanceof StorageError && cause.fault === "query") {
      replyRefusal(exchange, refuse("busy"));
      return;
    }
    this.#defect(cause);
    replyDefect(exchange);
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

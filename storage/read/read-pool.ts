/**
 * Reader threads: scans, searches and long renderings run here, so that neither the gateway nor the writer waits; so does
 * parsing a large report or batch. The first task starts the first thread. The only file that imports piscina.
 */
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { HeapInfo } from "node:v8";
import type { Piscina } from "piscina";
import type { CommandKind } from "#protocol/wire/command";
import type { SlicedBody } from "#protocol/wire/sliced-body";
import type { AnswerPart } from "../queries/answer-part.ts";
import type { QueryArguments, QueryName } from "../queries/named.ts";
import { StorageError } from "../sqlite/storage-error.ts";

export interface ReadPoolOptions {
  /** The database file. */
  path: string;
  /** Maximum number of reader threads. */
  threads: number;
  /** Maximum heap of a thread, `HEAP_MB_MAX` unless given. */
  heapMb?: number;
  /** Maximum number of queries running or queued, `QUERIES_MAX` unless given. */
  queriesMax?: number;
}

export interface ReadTask<N extends QueryName> {
  path: string;
  name: N;
  args: QueryArguments[N];
}

/** A part of an answer as bytes, whose memory is transferred to the caller. */
export type ReadPart<A> = Omit<AnswerPart<A>, "text"> & { bytes: Uint8Array };

/** The answer of a reader that cannot reach the database. */
export interface Unreachable {
  fault: "unreachable";
  message: string;
}

/** A whole body to split into slices. */
export interface SliceTask {
  kind: CommandKind;
  body: SharedArrayBuffer;
}

/** A query that takes longer is aborted and its thread replaced. */
export const READ_LIMIT_MS = 10_000;

/** Queries running or queued; further queries are rejected and the caller has to retry. */
export const QUERIES_MAX = 1_000;

/** A thread without tasks ends after this time and frees its memory. */
const IDLE_MS = 60_000;

/** Heap of a reader, which builds answers in parts; large enough for the 64 MB records of stores from before record limits. */
const HEAP_MB_MAX = 512;
/** Heap of a thread that parses reports and batches: the largest body, both as objects and as text. */
export const REPORT_HEAP_MB_MAX = 1_024;

/** Loads the pool's library when it is first needed. */
export function loadPool() {
  return import("piscina");
}

export class ReadPool {
  readonly #options: ReadPoolOptions;
  #pool: Promise<Piscina> | null = null;
  #closed = false;
  #queries = 0;

  constructor(options: ReadPoolOptions) {
    this.#options = options;
  }

  /** True once a reader thread has been requested. */
  get started(): boolean {
    return this.#pool !== null;
  }

  /**
   * The first part of the result, or the part that the arguments name; null when the subject of the query does not exist.
   * `limitMs` is the remaining time of the request. Rejects with a StorageError: fault "query" at the time limit, "queue"
   * when the queue is full, "unreachable" without a database, "reader" for any other failure.
   */
  async run<N extends QueryName>(
    name: N,
    args: QueryArguments[N],
    limitMs = READ_LIMIT_MS,
  ): Promise<ReadPart<QueryArguments[N]> | null> {
    const task: ReadTask<N> = { path: this.#options.path, name, args };
    const part = (await this.#run(task, name, limitMs)) as ReadPart<QueryArguments[N]> | Unreachable | null;
    if (part !== null && "fault" in part) throw new StorageError(part.fault, part.message);
    return part;
  }

  /** Checks the body of a command and splits it into slices. Rejects as `run` does. */
  async sliceBody(kind: CommandKind, body: SharedArrayBuffer): Promise<SlicedBody> {
    await this.ready();
    const task: SliceTask = { kind, body };
    return (await this.#run(task, `parsing a body of ${kind}`, READ_LIMIT_MS)) as SlicedBody;
  }

  /** Resolves when a thread is running: starting a thread takes longer than the time limit of some queries. */
  async ready(): Promise<void> {
    const pool = await this.#started();
    if (pool.threads.length === 0) await pool.run(null);
  }

  /** The heaps of the threads that run. */
  async heaps(): Promise<HeapInfo[]> {
    const threads = (await this.#pool)?.threads ?? [];
    const heaps = await Promise.all(threads.map((thread) => thread.getHeapStatistics().catch(() => null)));
    return heaps.filter((heap) => heap !== null);
  }

  /** Ends the threads and aborts queries in progress. */
  async close(): Promise<void> {
    this.#closed = true;
    await (await this.#pool)?.destroy();
  }

  async #run(task: object, what: string, limitMs: number): Promise<unknown> {
    const { queriesMax = QUERIES_MAX } = this.#options;
    if (this.#queries >= queriesMax) throw new StorageError("queue", `${what}: ${queriesMax} queries wait for a reader`);
    this.#queries += 1;
    try {
      return await this.#runCounted(task, what, limitMs);
    } finally {
      this.#queries -= 1;
    }
  }

  async #runCounted(task: object, what: string, limitMs: number): Promise<unknown> {
    const pool = await this.#started();
    const limit = new AbortController();
    if (limitMs <= 0) limit.abort();
    const timer = setTimeout(() => limit.abort(), limitMs);
    try {
      return await pool.run(task, { signal: limit.signal });
    } catch (error) {
      if (limit.signal.aborted) throw new StorageError("query", `${what} took longer than ${limitMs} ms`, error);
      const message = error instanceof Error ? error.message : String(error);
      throw new StorageError("reader", `${what}: ${message}`, error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #started(): Promise<Piscina> {
    if (this.#closed) throw new StorageError("reader", "the reader pool is closed");
    this.#pool ??= this.#start();
    return this.#pool;
  }

  async #start(): Promise<Piscina> {
    const { Piscina } = await loadPool();
    const own = fileURLToPath(import.meta.url);
    return new Piscina({
      filename: new URL(`./read-worker${extname(own)}`, import.meta.url).href,
      minThreads: 0,
      maxThreads: this.#options.threads,
      idleTimeout: IDLE_MS,
      // piscina does not count abortable tasks here: #run bounds the queue.
      maxQueue: Number.POSITIVE_INFINITY,
      resourceLimits: { maxOldGenerationSizeMb: this.#options.heapMb ?? HEAP_MB_MAX },
    });
  }
}

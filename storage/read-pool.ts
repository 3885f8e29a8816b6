/**
 * Reader threads: whatever scans, searches or renders much runs here, so that neither the gateway nor the writer waits; so does
 * parsing a large report. No thread starts before its first task. The only file that imports piscina.
 */
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Piscina } from "piscina";
import type { Sliced } from "#protocol/report-slices";
import type { AnswerPart } from "./queries/answer-part.ts";
import type { QueryArguments, QueryName } from "./queries/named.ts";
import { StorageError } from "./storage-error.ts";

export interface ReadPoolOptions {
  /** The database file. */
  path: string;
  /** Reader threads at most. */
  threads: number;
  /** Heap of a thread at most, `HEAP_MB_MAX` unless given. */
  heapMb?: number;
  /** Queries that run or wait for a thread at most, `QUERIES_MAX` unless given. */
  queriesMax?: number;
}

export interface ReadTask<N extends QueryName> {
  path: string;
  name: N;
  args: QueryArguments[N];
}

/** A part of an answer as bytes, whose memory goes over to the caller. */
export type ReadPart<A> = Omit<AnswerPart<A>, "text"> & { bytes: Uint8Array };

/** A whole report to be cut up. */
export interface SliceTask {
  report: SharedArrayBuffer;
}

/** A query that takes longer is given up, and its thread replaced. */
export const READ_LIMIT_MS = 10_000;

/** Queries that run or wait for a thread; beyond it the caller is told to come back. */
const QUERIES_MAX = 1_000;

/** A thread with nothing to read ends after this, and gives its memory back. */
const IDLE_MS = 60_000;

/** Heap of a reader, which makes answers in parts: records of stores that had no limits yet, of 64 MB each, fit too. */
const HEAP_MB_MAX = 512;
/** Heap of a thread that parses reports: the largest body, as objects and as text. */
export const REPORT_HEAP_MB_MAX = 1_024;

/** The pool's library, loaded when it is first needed. */
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

  /** True once a reader thread has been asked for. */
  get started(): boolean {
    return this.#pool !== null;
  }

  /**
   * The first part of the result, or the one that the arguments ask for; null when what the query is about does not exist.
   * `limitMs` is what is left of the time of the request. Rejects with a StorageError: fault "query" at the time limit, "queue"
   * with a full queue, "reader" for whatever else.
   */
  async run<N extends QueryName>(
    name: N,
    args: QueryArguments[N],
    limitMs = READ_LIMIT_MS,
  ): Promise<ReadPart<QueryArguments[N]> | null> {
    const task: ReadTask<N> = { path: this.#options.path, name, args };
    return (await this.#run(task, name, limitMs)) as ReadPart<QueryArguments[N]> | null;
  }

  /** Checks and cuts up a report. Rejects as `run` does. */
  async sliceReport(report: SharedArrayBuffer): Promise<Sliced> {
    await this.ready();
    const task: SliceTask = { report };
    return (await this.#run(task, "parsing a report", READ_LIMIT_MS)) as Sliced;
  }

  /** Resolves when a thread runs: the start of one takes longer than some queries may. */
  async ready(): Promise<void> {
    const pool = await this.#started();
    if (pool.threads.length === 0) await pool.run(null);
  }

  /** Ends the threads; queries under way are given up. */
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
      if (limit.signal.aborted) throw new StorageError("query", `${what} took longer than ${limitMs} ms`, null, error);
      const message = error instanceof Error ? error.message : String(error);
      throw new StorageError("reader", `${what}: ${message}`, null, error);
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
      // Tasks that can be aborted are not counted there: #run does that.
      maxQueue: Number.POSITIVE_INFINITY,
      resourceLimits: { maxOldGenerationSizeMb: this.#options.heapMb ?? HEAP_MB_MAX },
    });
  }
}

/**
 * Reader threads: whatever scans, searches or renders much runs here, so that neither the gateway nor the writer waits; so does
 * parsing a large report. No thread starts before its first task. The only file that imports piscina.
 */
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Piscina } from "piscina";
import type { Sliced } from "#protocol/report-slices";
import type { QueryArguments, QueryName } from "./queries/named.ts";
import { StorageError } from "./storage-error.ts";

export interface ReadPoolOptions {
  /** The database file. */
  path: string;
  /** Reader threads at most. */
  threads: number;
  /** Heap of a thread at most, `HEAP_MB_MAX` unless given. */
  heapMb?: number;
}

export interface ReadTask<N extends QueryName> {
  path: string;
  name: N;
  args: QueryArguments[N];
}

/** A whole report to be cut up. */
export interface SliceTask {
  report: SharedArrayBuffer;
}

/** A query that takes longer is given up, and its thread replaced. */
export const READ_LIMIT_MS = 10_000;

/** Queries that wait for a thread; beyond it the caller is told to come back. */
const QUEUE_MAX = 1_000;

/** A thread with nothing to read ends after this, and gives its memory back. */
const IDLE_MS = 60_000;

/** Heap of a reader: a page of 10,000 log lines takes some 30 MB. */
const HEAP_MB_MAX = 256;
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

  constructor(options: ReadPoolOptions) {
    this.#options = options;
  }

  /** True once a reader thread has been asked for. */
  get started(): boolean {
    return this.#pool !== null;
  }

  /**
   * JSON text of the result as bytes, null when what the query is about does not exist.
   * `limitMs` is what is left of the time of the request. Rejects with a StorageError (fault "query" at the time limit or with a full queue).
   */
  async run<N extends QueryName>(name: N, args: QueryArguments[N], limitMs = READ_LIMIT_MS): Promise<Uint8Array | null> {
    const task: ReadTask<N> = { path: this.#options.path, name, args };
    return (await this.#run(task, name, limitMs)) as Uint8Array | null;
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
    const pool = await this.#started();
    const limit = new AbortController();
    if (limitMs <= 0) limit.abort();
    const timer = setTimeout(() => limit.abort(), limitMs);
    try {
      return await pool.run(task, { signal: limit.signal });
    } catch (error) {
      const message = limit.signal.aborted ? `${what} took longer than ${limitMs} ms` : String(error);
      throw new StorageError("query", message, null, error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #started(): Promise<Piscina> {
    if (this.#closed) throw new StorageError("query", "the reader pool is closed");
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
      maxQueue: QUEUE_MAX,
      resourceLimits: { maxOldGenerationSizeMb: this.#options.heapMb ?? HEAP_MB_MAX },
    });
  }
}

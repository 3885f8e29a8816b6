/** The thread that reads for callers of `BlockingReader`: one connection for each link, made at the first request. */

import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type MessagePort, parentPort } from "node:worker_threads";
import { StorageError } from "../sqlite/storage-error.ts";
import {
  type AskedRead,
  GRACE_MS,
  type ReadAnswer,
  type ReadError,
  type ReaderConnect,
  type ReadLimits,
  type ReadRequest,
} from "./blocking-reader.ts";
import type { Settings } from "./connection.ts";
import { isLocked, isLost, toPostgresError, toReadError } from "./errors.ts";
import { type ReadPortion, ReadSession } from "./read-session.ts";

/** Between two attempts to reach the database. */
const AGAIN_MS = 100;
/** When a read has waited for so long, standard error says why. */
const TOLD_AFTER_MS = 2_000;
const STDERR = 2;

class ServedLink {
  readonly #port: MessagePort;
  readonly #signal: Int32Array;
  readonly #settings: Settings;
  readonly #limits: ReadLimits;
  #session: Promise<ReadSession> | null = null;
  /** The caller has begun a transaction: a read on another connection would see another state. */
  #inTransaction = false;

  constructor({ port, signal, settings, limitMs, patienceMs, wholeTables = false }: ReaderConnect) {
    this.#port = port;
    this.#signal = signal;
    this.#settings = settings;
    this.#limits = { limitMs, patienceMs, wholeTables };
    port.on("message", (request: ReadRequest) => void this.#serve(request));
    port.on("close", () => this.#drop(this.#session));
  }

  async #serve(request: ReadRequest): Promise<void> {
    const answer = await this.#answer(request);
    this.#port.postMessage(answer, "portion" in answer ? [answer.portion.bytes.buffer] : []);
    Atomics.store(this.#signal, 0, request.number);
    Atomics.notify(this.#signal, 0);
  }

  async #answer(request: ReadRequest): Promise<ReadAnswer> {
    const { number } = request;
    const start = performance.now();
    const until = start + this.#limits.patienceMs;
    const repeats = canRepeat(request) && !this.#inTransaction;
    if (request.kind === "exec") this.#inTransaction = request.text === "BEGIN";
    for (let told = false; ; ) {
      if (repeats) await this.#dropLost();
      this.#session ??= ReadSession.open(this.#settings, this.#limits);
      const session = this.#session;
      try {
        return { number, portion: await this.#inTime(session.then((open) => read(open, request))) };
      } catch (error) {
        if (isLost(error)) this.#drop(session);
        if (!repeats || !passes(error) || performance.now() >= until) return { number, error: readErrorOf(error) };
        if (!told && performance.now() >= start + TOLD_AFTER_MS) {
          tell(toPostgresError(error).message);
          told = true;
        }
        await sleep(AGAIN_MS);
      }
    }
  }

  /** A connection that was lost since its last read is no failure of the next one. */
  async #dropLost(): Promise<void> {
    const session = this.#session;
    const open = await session?.catch(() => null);
    if (open?.connection.isOpen === false) this.#drop(session);
  }

  /** Fails when the connection is silent beyond the time limit of its statements. */
  #inTime(reading: Promise<ReadPortion>): Promise<ReadPortion> {
    return new Promise((resolve, reject) => {
      const silent = () => reject(new StorageError("unreachable", "the connection to PostgreSQL does not answer"));
      const timer = setTimeout(silent, this.#limits.limitMs + GRACE_MS);
      reading.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  /** The next request makes a new connection. */
  #drop(session: Promise<ReadSession> | null): void {
    if (this.#session === session) this.#session = null;
    session?.then(
      ({ connection }) => connection.drop(),
      () => {},
    );
  }
}

/** The thread that waits for the read cannot pass on what this thread would write to its own standard error. */
function tell(problem: string): void {
  writeSync(STDERR, `millrace: a read waits for the store: ${problem}\n`);
}

async function read(session: ReadSession, request: AskedRead): Promise<ReadPortion> {
  switch (request.kind) {
    case "all":
      return await session.all(request);
    case "open":
      return await session.open(request);
    case "next":
      return await session.next(request.portal, request.rowsMax);
    case "close":
      session.close(request.portal);
      return nothing();
    case "exec":
      await session.exec(request.text);
      return nothing();
  }
}

function nothing(): ReadPortion {
  return { bytes: new Uint8Array(), columns: null, portal: null };
}

function readErrorOf(error: unknown): ReadError {
  const { code = null } = error as { code?: string | null };
  const { fault, message } = toReadError(error);
  return { fault, message, code };
}

/** True for a failure that passes by itself: the database comes back, or another session releases its lock. */
function passes(error: unknown): boolean {
  return isLost(error) || isLocked(error);
}

/** What continues a transaction or a portal cannot be repeated on another connection. */
function canRepeat({ kind, ...request }: AskedRead): boolean {
  return kind === "all" || kind === "open" || (kind === "exec" && "text" in request && request.text === "BEGIN");
}

parentPort?.on("message", (connect: ReaderConnect) => new ServedLink(connect));

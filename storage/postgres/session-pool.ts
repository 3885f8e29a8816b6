/** Connections for awaited reads. They are made when reads need them, at most so many, and closed when they have been idle. */
import { StorageError } from "../sqlite/storage-error.ts";
import { GRACE_MS } from "./blocking-reader.ts";
import type { Settings } from "./connection.ts";
import { ReadSession, type SessionLimits } from "./read-session.ts";

/** A connection that no read has used for so long is closed. */
const IDLE_MS = 60_000;

const CLOSED = "the store is closed";

interface FreeSession {
  session: ReadSession;
  idle: NodeJS.Timeout;
}

/** A read without a session. */
interface Waiting {
  /** Null: there may be room for another session. */
  resolve(session: ReadSession | null): void;
  reject(cause: unknown): void;
}

export class SessionPool {
  readonly #settings: Settings;
  readonly #limits: SessionLimits;
  readonly #sessionsMax: number;
  /** The one used last is at the end. */
  readonly #free: FreeSession[] = [];
  /** In the order of their arrival. */
  readonly #waiting: Waiting[] = [];
  /** Sessions that are open or being opened. */
  #sessions = 0;
  #isOpen = true;

  constructor(settings: Settings, limits: SessionLimits, sessionsMax: number) {
    this.#settings = settings;
    this.#limits = limits;
    this.#sessionsMax = sessionsMax;
  }

  /**
   * Reads on a session that nobody else uses meanwhile.
   *
   * @throws StorageError for a connection that cannot be made, "query" where none is free within the time limit or the read takes
   * longer, and what `read` throws
   */
  async use<Result>(read: (session: ReadSession) => Promise<Result>): Promise<Result> {
    const session = await this.#take();
    const { limitMs } = this.#limits;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      session.connection.drop();
    }, limitMs + GRACE_MS);
    try {
      return await read(session);
    } catch (cause) {
      throw isLate ? new StorageError("query", `the read took longer than ${limitMs} ms`, cause) : cause;
    } finally {
      clearTimeout(timer);
      this.#give(session);
    }
  }

  close(): void {
    this.#isOpen = false;
    for (const { session, idle } of this.#free.splice(0)) {
      clearTimeout(idle);
      session.connection.drop();
    }
    this.#refuseWaiting(new StorageError("reader", CLOSED));
  }

  async #take(): Promise<ReadSession> {
    for (;;) {
      if (!this.#isOpen) throw new StorageError("reader", CLOSED);
      // A session may have become free while another one was refused.
      const session = this.#takeFree() ?? (await this.#open()) ?? this.#takeFree() ?? (await this.#wait());
      if (session !== null) return session;
    }
  }

  #takeFree(): ReadSession | null {
    for (let free = this.#free.pop(); free !== undefined; free = this.#free.pop()) {
      clearTimeout(free.idle);
      if (free.session.connection.isOpen) return free.session;
      this.#sessions -= 1;
    }
    return null;
  }

  /** Null where a read has to wait for another one's session: the server refuses more, as beyond the limit of a role. */
  async #open(): Promise<ReadSession | null> {
    if (this.#sessions === this.#sessionsMax) return null;
    this.#sessions += 1;
    try {
      return await ReadSession.open(this.#settings, this.#limits);
    } catch (cause) {
      this.#sessions -= 1;
      if (this.#sessions > 0) return null;
      this.#refuseWaiting(cause);
      throw cause;
    }
  }

  #wait(): Promise<ReadSession | null> {
    return new Promise((resolve, reject) => {
      const { limitMs } = this.#limits;
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(new StorageError("query", `no connection was free for ${limitMs} ms`));
      }, limitMs);
      const waiting: Waiting = {
        resolve: (session) => {
          clearTimeout(timer);
          resolve(session);
        },
        reject: (cause) => {
          clearTimeout(timer);
          reject(cause);
        },
      };
      this.#waiting.push(waiting);
    });
  }

  #give(session: ReadSession): void {
    const isUsable = this.#isOpen && session.connection.isOpen;
    if (!isUsable) {
      this.#sessions -= 1;
      session.connection.drop();
    }
    const next = this.#waiting.shift();
    if (next !== undefined) next.resolve(isUsable ? session : null);
    else if (isUsable) this.#keep(session);
  }

  #keep(session: ReadSession): void {
    const idle = setTimeout(() => this.#drop(session), IDLE_MS);
    idle.unref();
    this.#free.push({ session, idle });
  }

  #drop(session: ReadSession): void {
    const index = this.#free.findIndex((free) => free.session === session);
    if (index < 0) return;
    this.#free.splice(index, 1);
    this.#sessions -= 1;
    session.connection.drop();
  }

  #refuseWaiting(cause: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(cause);
  }
}

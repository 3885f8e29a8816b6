/** An engine process as the core knows it: what it polls for, the runs it holds, its last contact. */
import type { Run } from "./run.ts";

/** The code that an engine executes, and how. */
export interface EngineKeyFields {
  readonly source_dir: string;
  readonly module: string;
  readonly isolated: boolean;
  readonly nice: number;
}

/** An engine gets only runs of its key. */
export interface EngineKey extends EngineKeyFields {
  /** The same for the same fields and no others: compared, and a key of maps. Never parsed; the fields are beside it. */
  readonly text: string;
}

export function engineKey({ source_dir, module, isolated, nice }: EngineKeyFields): EngineKey {
  // With the length of one name, no two pairs of names have the same text.
  const text = `${isolated ? "isolated" : "shared"} ${nice} ${source_dir.length} ${source_dir} ${module}`;
  return { source_dir, module, isolated, nice, text };
}

/** What is stored of an engine beside its process. */
export interface StoredEngine extends EngineKeyFields {
  /** Left out for an engine that polls. */
  readonly exchanges?: true;
}

export function storedEngine({ key, exchanges }: Pick<Engine, "key" | "exchanges">): string {
  const { source_dir, module, isolated, nice } = key;
  return JSON.stringify({ source_dir, module, isolated, nice, ...(exchanges ? { exchanges } : {}) } satisfies StoredEngine);
}

/** A request that waits for work: a poll, which takes one item, or an exchange. */
export interface ParkedPoll {
  command: number;
  engine: Engine;
  /** Number of the exchange; null for a poll. */
  exchange: number | null;
  /** Items that the answer may have. */
  slots: number;
  /**
   * JSON of the orders to stop that the engine has just been given; the answer repeats them, and at the uptime `remindUs` has
   * them alone.
   */
  stops: readonly string[];
  remindUs: number;
}

export interface Engine {
  id: string;
  pid: number;
  key: EngineKey;
  /** Started by this server's pool. */
  spawned: boolean;
  /** On this host: the process can be watched. Engines on other hosts are judged by contact. */
  local: boolean;
  host: string | null;
  /** Start time of the process in the system's units; null when unreadable. */
  pidStarted: number | null;
  /** True when the engine's row is stored. */
  stored: boolean;
  /** The engine ends runs itself on cancel and timeout. */
  ownsStop: boolean;
  /** The engine exchanges, so it may hold several runs, and runs that it has not begun. An engine that polls does not. */
  exchanges: boolean;
  /** Number of the engine's newest exchange; 0 before the first one since the core's start. */
  exchange: number;
  /** The uptime when the engine was ordered to stop the runs that it still lists, by lease. */
  stopsOrdered: ReadonlyMap<number, number>;
  /** The only run that the engine wants; null for any run of its key. */
  wanted: number | null;
  firstSeenUs: number;
  /** Uptime of the process at the engine's last message: a step of the wall clock is no silence. */
  lastContactUs: number;
  /** Wall-clock time when the engine last got work. */
  lastWorkUs: number;
  runsDone: number;
  /** Since when code has held the engine's thread; null while the thread works. */
  blockedSinceUs: number | null;
  /** When that was last recorded as an event. */
  blockedEventUs: number;
  /** Why the engine asked to be replaced; null as long as it has not. */
  replaceReason: string | null;
  /** True when the engine is to leave at its next poll. */
  exitRequested: boolean;
  /** The assignment for which a warning was logged, see hand-out-checks.ts; 0 for none. */
  warnedOf: number;
  /** The runs that the engine holds, by id. */
  runs: Map<number, Run>;
  poll: ParkedPoll | null;
}

/**
 * After the start of the process, engines report within this time what happened in the meantime. An engine whose server was away
 * looks for it every five seconds at least, as specified (`WAIT_MS_LONGEST` of the SDK), and the server needs some time until it
 * listens, with PostgreSQL two seconds and more.
 */
export const REPORTS_WITHIN_US = 10_000_000;

/** The engine may have decided of its runs what it could not report yet: it has not exchanged since the core's start. */
export function holdsUnheardRuns({ exchanges, exchange, runs }: Engine): boolean {
  return exchanges && exchange === 0 && runs.size > 0;
}

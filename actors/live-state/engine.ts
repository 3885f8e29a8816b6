/** An engine process as the core knows it: what it polls for, what it holds, when it was last heard of. */

/** Engines are matched to runs by this key; matching is exact text. */
export interface EngineKey {
  source_dir: string;
  module: string;
  isolated: boolean;
  nice: number;
}

export function engineKeyText(key: EngineKey): string {
  return `${key.source_dir}\n${key.module}\n${key.isolated ? 1 : 0}\n${key.nice}`;
}

/** A long-poll that waits for work. */
export interface ParkedPoll {
  command: number;
  engine: Engine;
}

export interface Engine {
  id: string;
  pid: number;
  key: EngineKey;
  keyText: string;
  /** Started by this server's pool. */
  spawned: boolean;
  /** On this host: its process can be watched. Engines elsewhere live by contact. */
  local: boolean;
  host: string | null;
  /** Start time of the process as the system counts it, null where it cannot be read. */
  pidStarted: number | null;
  /** Its row is in the store. */
  stored: boolean;
  /** Ends runs itself on cancel and timeout. */
  ownsStop: boolean;
  /** The only run it wants, null for any of its key. */
  wanted: number | null;
  firstSeenUs: number;
  lastContactUs: number;
  /** Wall-clock time at which it was last given work. */
  lastWorkUs: number;
  runsDone: number;
  /** Told to leave at its next poll. */
  exitRequested: boolean;
  /** The assignment of which a warning was given, see hand-out-checks.ts; 0 before. */
  warnedOf: number;
  /** Ids of the runs it holds. */
  runs: Set<number>;
  poll: ParkedPoll | null;
}

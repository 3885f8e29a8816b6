/** An engine process as the core knows it: what it polls for, the runs it holds, its last contact. */

/** Engines are matched to runs by this key, as exact text. */
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
  /** On this host: the process can be watched. Engines on other hosts are judged by contact. */
  local: boolean;
  host: string | null;
  /** Start time of the process in the system's units; null when unreadable. */
  pidStarted: number | null;
  /** True when the engine's row is stored. */
  stored: boolean;
  /** The engine ends runs itself on cancel and timeout. */
  ownsStop: boolean;
  /** The only run that the engine wants; null for any run of its key. */
  wanted: number | null;
  firstSeenUs: number;
  lastContactUs: number;
  /** Wall-clock time when the engine last got work. */
  lastWorkUs: number;
  runsDone: number;
  /** True when the engine is to leave at its next poll. */
  exitRequested: boolean;
  /** The assignment for which a warning was logged, see hand-out-checks.ts; 0 for none. */
  warnedOf: number;
  /** Ids of the runs that the engine holds. */
  runs: Set<number>;
  poll: ParkedPoll | null;
}

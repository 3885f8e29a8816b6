/** Orders from the dispatcher to the engine processes, and the shell's own timer. */
import type { EngineKeyFields } from "../core/state/engine.ts";

export type EngineProcessesMessage =
  /**
   * An engine polls: watch its process and the file of its module. `pid_started` is the start time of the process, null if
   * unknown.
   */
  | { kind: "Watch"; engine_id: string; pid: number; pid_started: number | null; source_dir: string; module: string }
  | { kind: "Unwatch"; engine_id: string }
  | { kind: "Spawn"; engine_id: string; key: EngineKeyFields }
  | { kind: "Signal"; engine_id: string; pid: number; signal: "SIGTERM" | "SIGKILL" }
  /** The engine of a run is gone without having ended the run: end the processes that the run has started. */
  | { kind: "EndProcesses"; run: string }
  /** The server stops; this many runs continue in engines that stay. */
  | { kind: "Staying"; runs: number }
  /** An engine of the pool ended before its first poll: its runs wait, so the server's log reports the cause. */
  | { kind: "StartFailed"; engine_id: string; module: string; cause: string }
  /** The dispatcher has started, with this epoch, and asks for the living engines of the pool. */
  | { kind: "Resync"; epoch: number }
  | { kind: "Look" };

/**
 * The living engines of the pool, in response to Resync. The response to a former dispatcher is dropped: that dispatcher may
 * have started engines since.
 */
export interface PoolReport {
  kind: "PoolReport";
  epoch: number;
  engines: { engine_id: string; key: EngineKeyFields }[];
  /** The engine started last, also if it has ended: its requests may still be on their way. Null before the first one. */
  newest: string | null;
}

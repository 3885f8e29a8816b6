/** Orders of the dispatcher to the engine processes, and the shell's own timer. */
import type { EngineKey } from "../live-state/engine.ts";

export type EngineProcessesMessage =
  /**
   * An engine polls: its process and the file of its module are watched from now on. `pid_started` is when the process started,
   * null where that is not known yet.
   */
  | { kind: "Watch"; engine_id: string; pid: number; pid_started: number | null; source_dir: string; module: string }
  | { kind: "Unwatch"; engine_id: string }
  | { kind: "Spawn"; engine_id: string; key: EngineKey }
  | { kind: "Signal"; engine_id: string; pid: number; signal: "SIGTERM" | "SIGKILL" }
  /** The engine of a run has gone without having ended it: processes that the run has started end too. */
  | { kind: "EndProcesses"; run: string }
  /** The server stops, and so many runs go on in engines that stay. */
  | { kind: "Staying"; runs: number }
  /** An engine of the pool has ended before it asked for work: its runs wait, so the server's log says why. */
  | { kind: "StartFailed"; engine_id: string; module: string; cause: string }
  /** The dispatcher has started: it is told which engines of the pool live. */
  | { kind: "Resync" }
  | { kind: "Look" };

/** The engines of the pool that live, in answer to Resync. */
export interface PoolReport {
  kind: "PoolReport";
  engines: { engine_id: string; key: EngineKey }[];
}

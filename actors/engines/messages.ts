/** Orders of the dispatcher to the engine processes, and the shell's own timer. */
import type { EngineKey } from "../live-state/engine.ts";

export type EngineProcessesMessage =
  /** An engine polls: its process and the file of its module are watched from now on. */
  | { kind: "Watch"; engine_id: string; pid: number; source_dir: string; module: string }
  | { kind: "Unwatch"; engine_id: string }
  | { kind: "Spawn"; engine_id: string; key: EngineKey }
  | { kind: "Signal"; engine_id: string; pid: number; signal: "SIGTERM" | "SIGKILL" }
  /** The dispatcher has started: it is told which engines of the pool live. */
  | { kind: "Resync" }
  | { kind: "Look" };

/** The engines of the pool that live, in answer to Resync. */
export interface PoolReport {
  kind: "PoolReport";
  engines: { engine_id: string; key: EngineKey }[];
}

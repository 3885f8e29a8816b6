/** What a simulated engine knows of the rest of the load generator. */
import type { ReportWriter } from "./engine-protocol.ts";
import type { HttpConnection } from "./http-connection.ts";
import type { Recorder } from "./recorder.ts";

/** Delay after a refused poll or a cut connection, as in engines. */
export const RETRY_MS = 200;

export interface WorkItem {
  run_id: number;
  run_name: string;
  flow: string;
  /** For engines that end runs themselves. */
  lease?: number;
  run_transitions?: boolean;
}

/** A Running run held by an engine, for phases with special actions. */
export interface HeldRun {
  runId: number;
  engineId: string;
  connection: HttpConnection;
  reports: ReportWriter;
}

/** Callbacks to the rest of the load generator. */
export interface EngineHost {
  readonly recorder: Recorder;
  readonly tasks: number;
  readonly logs: number;
  readonly shortRuns: boolean;
  /** The work arrived at `atMs`; returns when its create was sent, if by this generator. */
  received(item: WorkItem, atMs: number): number | undefined;
  /** Runs while a run is Running, before its report. Returns the next free sequence number of the run's reports. */
  readonly duty: ((held: HeldRun) => Promise<number>) | null;
  /** The body of the run's last move. */
  outcome(item: WorkItem): string;
  finished(item: WorkItem): void;
  dismissed(engineId: string): void;
}

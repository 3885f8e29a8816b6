import type { StepReport } from "#protocol/records/durable";
import type { State } from "#protocol/records/state";

/**
 * The items of POST /api/engine/report that a run produces, without `seq`, which the reporter adds. Wire names are kept.
 */
export type ReportItem = TaskRunCreated | TaskRunTransition | LogLines | CustomEvent | ArtifactPublished | StepReported;

export interface TaskRunCreated {
  kind: "task_run_created";
  /** UUID of the task run. */
  external_id: string;
  name: string;
  task_key: string;
  /** The name and a counter within the run: "add-0". */
  dynamic_key: string;
  /** External ids of the task runs this task run waited on. */
  parents: string[];
}

export interface TaskRunTransition {
  kind: "task_run_transition";
  external_id: string;
  state: State;
  force: boolean;
}

export interface LogLines {
  kind: "logs";
  logs: LogLine[];
}

export interface LogLine {
  run_id: number;
  task_run_id: null;
  task_run_external_id: string | null;
  /** 10 debug, 20 info, 30 warning, 40 error. */
  level: number;
  logger: string;
  /** Microseconds since the Unix epoch, UTC. */
  timestamp: number;
  message: string;
}

export interface CustomEvent {
  kind: "custom";
  name: string;
  payload: unknown;
  task_run_external_id: string | null;
}

export interface ArtifactPublished {
  kind: "artifact";
  /** UUID; the same id again updates the artifact in place. */
  external_id: string;
  artifact_kind: "markdown" | "table" | "progress" | "link" | "image";
  key: string | null;
  data: unknown;
  task_run_external_id: string | null;
}

/** A step of a durable run has completed. */
export type StepReported = Omit<StepReport, "seq">;

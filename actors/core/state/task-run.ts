/** A task run of a run in memory. */
import type { State } from "#protocol/records/state";

export interface TaskRun {
  id: number;
  external_id: string;
  run_id: number;
  name: string;
  task_key: string;
  dynamic_key: string;
  parents: string[];
  /** Null until the first move; rendered as Pending with timestamp 0. */
  state: State | null;
  start_time: number | null;
  end_time: number | null;
  total_run_time: number | null;
  crash_count: number;
  failure_count: number;
  created_at: number;
}

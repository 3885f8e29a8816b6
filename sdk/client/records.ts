/** The records the client hands out, in the spelling of the interface. */

import type { State, StateType } from "#protocol/state";

export type { State, StateType };

export type JsonObject = Record<string, unknown>;

/** Sent on the stream in place of a record that is gone. */
export interface Deleted {
  id: number;
  deleted: true;
}

export interface Run {
  id: number;
  external_id: string;
  name: string;
  project: string;
  flow_id: number;
  flow_name: string;
  group: string;
  state: State;
  parameters: JsonObject;
  tags: string[];
  attempt: number;
  priority: number;
  created_by: string;
  created_at: number;
  start_time: number | null;
  end_time: number | null;
  /** Microseconds from the first Running to the end. */
  total_run_time: number | null;
  scheduled_time: number | null;
  schedule_id: number | null;
  backfill_id: number | null;
  parent_run_id: number | null;
  engine_id: string | null;
  engine_pid: number | null;
  crash_count: number;
  failure_count: number;
  report_seq: number;
  task_counts: Record<string, number>;
}

export interface TaskRun {
  id: number;
  external_id: string;
  run_id: number;
  name: string;
  task_key: string;
  dynamic_key: string;
  state: State;
  crash_count: number;
  failure_count: number;
  created_at: number;
  start_time: number | null;
  end_time: number | null;
  total_run_time: number | null;
  parents: string[];
  flow_id?: number;
  flow_name?: string;
  project?: string;
  run_name?: string;
}

export interface GraphNode {
  id: number;
  external_id: string;
  name: string;
  dynamic_key: string;
  state: State;
  created_at: number;
  start_time: number | null;
  end_time: number | null;
}

export interface RunGraph {
  run_id: number;
  nodes: GraphNode[];
  edges: { from: number; to: number }[];
}

export interface Log {
  id: number;
  run_id: number;
  task_run_id: number | null;
  /** 10 debug, 20 info, 30 warning, 40 error. */
  level: number;
  logger: string;
  message: string;
  timestamp: number;
}

export interface Resource {
  id: string;
  kind: string;
  name?: string;
}

export interface Event {
  id: number;
  external_id: string;
  seq: number;
  name: string;
  occurred: number;
  resource: Resource;
  related: Resource[];
  payload: JsonObject;
  run_id: number | null;
  flow_id: number | null;
}

export interface Artifact {
  id: number;
  external_id: string;
  run_id: number;
  task_run_id: number | null;
  key: string | null;
  /** markdown, table, progress, link or image. */
  kind: string;
  data: JsonObject;
  created_at: number;
  updated_at: number;
  /** In listings across runs. */
  flow_name?: string;
  project?: string;
  run_name?: string;
}

export interface Flow {
  id: number;
  external_id: string;
  project: string;
  name: string;
  module: string;
  source_dir: string;
  description: string | null;
  group: string | null;
  tags: string[];
  parameter_schema: JsonObject;
  options: JsonObject;
  live: boolean;
  error: string | null;
  created_at: number;
  last_seen_at: number;
}

/** A flow as single reads and the list give it. */
export interface FlowSummary extends Flow {
  /** Up to ten, newest first: run id, state type, state name, duration in microseconds. */
  recent_runs: [number, StateType, string, number | null][];
  triggers: string[];
  triggered_by: string | null;
  upstreams: string[];
  batch_key: string | null;
  schedules: ScheduleRow[];
}

export interface ScheduleRow extends JsonObject {
  id: number;
  flow_id: number;
  active: boolean;
  next_fire: number | null;
}

export interface Rule extends JsonObject {
  id: number;
  name: string;
  enabled: boolean;
}

export interface Variable {
  name: string;
  value: unknown;
  secret: boolean;
  tags: string[];
  created_at: number;
  updated_at: number;
}

export interface EngineInfo {
  id: string;
  pid: number;
  module: string;
  source_dir: string;
  isolated: boolean;
  nice: number;
  runs_done: number;
  current_run: number | null;
  adopted: boolean;
  exit_requested: boolean;
  uptime_secs: number;
}

export interface ServerInfo {
  version: string;
  home: string;
  pid: number;
  started_at: number;
  url: string;
  served_dir: string | null;
  engines: EngineInfo[];
  queued: number;
  stream_seq: number;
}

export interface Settings {
  host: string;
  port: number;
  pid: number;
  version: string;
  home: string;
  served_dir: string | null;
  database_path: string;
  database_bytes: number;
  wal_bytes: number;
  resources: Record<string, { total: number; used: number }>;
  max_engines: number;
  engine_max_runs: number;
  crash_retries_default: number;
  catchup_default: string;
  retain_days: number;
  email_configured: boolean;
  secret_key_present: boolean;
  secret_key_missing: boolean;
  custom_routes: { id: number; method: string; path: string; source?: string | null }[];
  engine_saturation_risk: boolean;
  saturation_flows: string[];
  saturation_reason: string | null;
}

export interface Counts {
  /** Runs that have not ended. */
  active: number;
  runs: Record<StateType, number>;
  flows: Record<string, Partial<Record<StateType, number>>>;
  task_runs: Partial<Record<StateType, number>>;
}

export interface Vocabulary {
  events: { name: string; payload_fields: string[]; resource: string; when: string }[];
  reserved_prefixes: string[];
  states: { name: string; state_type: StateType; is_sub_state: boolean }[];
}

export interface LogAppended {
  run_id: number;
  last_id: number;
  count: number;
}

export interface BackfillCreated {
  backfill_id: number;
  flow_id: number;
  count: number;
}

export interface BackfillUpdated {
  backfill_id: number;
  cancelled: boolean;
}

export interface ExpectationMessage extends JsonObject {
  id: number | null;
  rule_id: number;
}

/** Task run records (interface: "TaskRun"), with the identity of the owning run. */
import { bytesToUuid } from "#protocol/values/uuid";
import type { Statements } from "../sqlite/statements.ts";
import { quoted, stored } from "./json.ts";
import { renderState } from "./state-record.ts";

export type TaskRunRecordRow = [
  id: number,
  external_id: Uint8Array,
  run_id: number,
  name: string,
  task_key: string,
  dynamic_key: string,
  state_type: number,
  state_name: string | null,
  state_timestamp: number,
  state_message: string | null,
  state_details: string | null,
  crash_count: number,
  failure_count: number,
  created_at: number,
  start_time: number | null,
  end_time: number | null,
  total_run_time: number | null,
  parents: string | null,
  flow_id: number,
  flow_name: string,
  project: string,
  run_name: string,
];

export const SELECT_TASK_RUN = `SELECT t.id, t.external_id, t.run_id, t.name, t.task_key, t.dynamic_key, t.state_type, t.state_name,
  t.state_timestamp, t.state_message, t.state_details, t.crash_count, t.failure_count, t.created_at, t.start_time, t.end_time,
  t.total_run_time, t.parents, r.flow_id, f.name, f.project, r.name
  FROM task_runs t JOIN runs r ON r.id = t.run_id JOIN flows f ON f.id = r.flow_id`;

export function renderTaskRun(row: TaskRunRecordRow): string {
  const [id, externalId, runId, name, taskKey, dynamicKey, type, stateName, timestamp, message, details, ...rest] = row;
  const [crashes, failures, createdAt, start, end, duration, parents, flowId, flowName, project, runName] = rest;
  return (
    `{"id":${id},"external_id":"${bytesToUuid(externalId)}","run_id":${runId},"name":${quoted(name)},` +
    `"task_key":${quoted(taskKey)},"dynamic_key":${quoted(dynamicKey)},` +
    `"state":${renderState(type, stateName, timestamp, message, details)},"crash_count":${crashes},` +
    `"failure_count":${failures},"created_at":${createdAt},"start_time":${start},"end_time":${end},` +
    `"total_run_time":${duration},"parents":${stored(parents, "[]")},"flow_id":${flowId},"flow_name":${quoted(flowName)},` +
    `"project":${quoted(project)},"run_name":${quoted(runName)}}`
  );
}

/** The task run as JSON text, or null for an unknown id. */
export function taskRunById(statements: Statements, id: number): string | null {
  const row = statements.raw<TaskRunRecordRow>(`${SELECT_TASK_RUN} WHERE t.id = ?`).get(id);
  return row === undefined ? null : renderTaskRun(row);
}

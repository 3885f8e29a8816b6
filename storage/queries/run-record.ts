/** Run records (interface: "Run"). */

import { isTerminal } from "#protocol/records/state";
import { bytesToUuid } from "#protocol/values/uuid";
import { stateType } from "../schema/codes.ts";
import type { Statements } from "../sqlite/statements.ts";
import { quoted, stored } from "./json.ts";
import { renderState } from "./state-record.ts";

export type RunRecordRow = [
  id: number,
  external_id: Uint8Array,
  name: string,
  project: string,
  flow_id: number,
  flow_name: string,
  flow_group: string | null,
  state_type: number,
  state_name: string | null,
  state_timestamp: number,
  state_message: string | null,
  state_details: string | null,
  parameters: string | null,
  tags: string | null,
  attempt: number,
  priority: number,
  created_by: string,
  created_at: number,
  start_time: number | null,
  end_time: number | null,
  total_run_time: number | null,
  scheduled_time: number | null,
  schedule_id: number | null,
  backfill_id: number | null,
  parent_run_id: number | null,
  engine_id: string | null,
  engine_pid: number | null,
  crash_count: number,
  failure_count: number,
  report_seq: number,
  task_counts: string | null,
  lineage_id: number | null,
  caller_run_id: number | null,
  fire_time: number | null,
  traceparent: string | null,
];

export const SELECT_RUN = `SELECT r.id, r.external_id, r.name, f.project, r.flow_id, f.name, f.flow_group,
  r.state_type, r.state_name, r.state_timestamp, r.state_message, r.state_details, r.parameters, r.tags, r.attempt,
  r.priority, r.created_by, r.created_at, r.start_time, r.end_time, r.total_run_time, r.scheduled_time, r.schedule_id,
  r.backfill_id, r.parent_run_id, r.engine_id, r.engine_pid, r.crash_count, r.failure_count, r.report_seq,
  r.task_counts, r.lineage_id, r.caller_run_id, r.fire_time, r.traceparent
  FROM runs r JOIN flows f ON f.id = r.flow_id`;

export function renderRun(row: RunRecordRow): string {
  const [id, externalId, name, project, flowId, flowName, group, type, stateName, timestamp, message, details, ...rest] = row;
  const [parameters, tags, attempt, priority, createdBy, createdAt, start, end, duration, scheduled, ...more] = rest;
  const [schedule, backfill, parent, engine, pid, crashes, failures, seq, taskCounts, lineage, caller, fire, traceparent] = more;
  const fireTime = schedule === null ? null : (fire ?? scheduled);
  const durable = lineage === null ? "" : `"lineage_id":${lineage},${caller === null ? "" : `"caller_run_id":${caller},`}`;
  return (
    `{"id":${id},"external_id":"${bytesToUuid(externalId)}","name":${quoted(name)},"project":${quoted(project)},` +
    `"flow_id":${flowId},"flow_name":${quoted(flowName)},"group":${quoted(group ?? project)},` +
    `"state":${renderState(type, stateName, timestamp, message, details)},` +
    `"parameters":${stored(parameters, "{}")},"tags":${stored(tags, "[]")},"attempt":${attempt},"priority":${priority},` +
    `"created_by":${quoted(createdBy)},"created_at":${createdAt},"start_time":${start},"end_time":${end},` +
    `"total_run_time":${duration},"scheduled_time":${scheduled},${fireTime === null ? "" : `"fire_time":${fireTime},`}"schedule_id":${schedule},"backfill_id":${backfill},` +
    `"parent_run_id":${parent},${durable}"engine_id":${quoted(engine)},"engine_pid":${pid},"crash_count":${crashes},` +
    `"failure_count":${failures},"report_seq":${seq},"task_counts":${stored(taskCounts, "{}")}${traceparent === null ? "" : `,"traceparent":"${traceparent}"`}}`
  );
}

/** The run as JSON text, or null for an unknown id. */
export function runById(statements: Statements, id: number): string | null {
  const row = statements.raw<RunRecordRow>(`${SELECT_RUN} WHERE r.id = ?`).get(id);
  return row === undefined ? null : renderRun(row);
}

/** Null for an unknown run. */
export function runHasEnded(statements: Statements, id: number): boolean | null {
  const row = statements.raw<[number]>("SELECT state_type FROM runs WHERE id = ?").get(id);
  return row === undefined ? null : isTerminal(stateType(row[0]));
}

/** True when the run exists. */
export function runExists(statements: Statements, id: number): boolean {
  return statements.raw("SELECT 1 FROM runs WHERE id = ?").get(id) !== undefined;
}

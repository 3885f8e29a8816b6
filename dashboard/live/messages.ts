/** The messages of the stream, by name. A deletion is an update with a mark. */
import type { ArtifactRow } from "#protocol/records/artifact";
import type { Event } from "#protocol/records/event";
import type { Flow } from "#protocol/records/flow";
import type { RuleRow } from "#protocol/records/rule";
import type { Run } from "#protocol/records/run";
import type { ScheduleRow } from "#protocol/records/schedule";
import type { TaskRun } from "#protocol/records/task-run";
import type { VariableRow } from "#protocol/records/variable";

export interface Deleted {
  id: number;
  deleted: true;
}

export interface LiveMessages {
  "run.updated": Run | Deleted;
  "task_run.updated": TaskRun;
  "log.appended": { run_id: number; last_id: number; count: number };
  "event.created": Event;
  "flow.registered": Flow;
  "rule.updated": RuleRow | Deleted;
  "variable.updated": VariableRow | { name: string; deleted: true };
  "artifact.updated": ArtifactRow;
  "schedule.updated": ScheduleRow | Deleted;
  "backfill.created": { backfill_id: number; flow_id: number; count: number };
  "backfill.updated": { backfill_id: number; cancelled: boolean };
  "expectation.armed": { id: number; rule_id: number; key?: string };
  "expectation.met": { id: number; rule_id: number; key?: string };
  "expectation.lapsed": { id: number; rule_id: number };
}

export type LiveKind = keyof LiveMessages;

export function isDeleted<T extends object>(message: T | Deleted): message is Deleted {
  return "deleted" in message && message.deleted === true;
}

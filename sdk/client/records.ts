/** The records that the client returns and sends, under their interface names. Types only: nothing is loaded. */

export type { ArtifactBody, ArtifactKind, ArtifactListItem, ArtifactRow } from "#protocol/artifact";
export type { BackfillBody, BackfillPreview, BackfillStatus, BackfillValue } from "#protocol/backfill";
export type { EmitEventBody, Event, Resource } from "#protocol/event";
export type { Flow, FlowOptions, FlowSummary } from "#protocol/flow";
export type { GraphEdge, GraphNode, RunGraph } from "#protocol/graph";
export type { AcquireResponse } from "#protocol/lease";
export type { Log } from "#protocol/log";
export type { Queue, QueuedRun, RunExplanation } from "#protocol/queue";
export type {
  Expectation,
  RuleAction,
  RuleBody,
  RuleFiring,
  RuleMatch,
  RulePatch,
  RuleRow,
  RuleSpec,
  RuleTest,
} from "#protocol/rule";
export type { CreateRunBody, CreateRunForFlowBody, Run, RunCounts, TransitionBody } from "#protocol/run";
export type {
  PausedSchedules,
  PreviewBody,
  PreviewResponse,
  ResumedSchedules,
  ScheduleBody,
  SchedulePatchBody,
  ScheduleRow,
  SkipBody,
  SkipResponse,
} from "#protocol/schedule";
export type { ScheduleFires, ScheduleRuns } from "#protocol/schedule-calendar";
export type {
  ActorInfo,
  ClockAccepted,
  ClockProblem,
  CodeProblem,
  Counts,
  EngineInfo,
  ServerInfo,
  Settings,
  SettingsPatch,
} from "#protocol/server";
export type { State, StateType } from "#protocol/state";
export type { Stats } from "#protocol/stats";
export type { TaskRun } from "#protocol/task-run";
export type { ProjectedFire, UpcomingItem, UpcomingRun } from "#protocol/upcoming";
export type { VariableBody, VariablePatch, VariableRow, VariableWithRaw } from "#protocol/variable";
export type { Vocabulary } from "#protocol/vocabulary";

export type JsonObject = Record<string, unknown>;

/** The filters of a list: its query without paging, each optionally undefined. */
export type FilterOf<Query> = Loose<Omit<Query, "limit" | "cursor">>;

/** A body whose optional fields may also be undefined. */
export type Loose<T> = { [Name in keyof T]?: T[Name] | undefined };

/** Sent on the stream in place of a deleted record. */
export interface Deleted {
  id: number;
  deleted: true;
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

/** The records that the client returns and sends, under their interface names. Types only: nothing is loaded. */

export type { ArtifactBody, ArtifactKind, ArtifactListItem, ArtifactRow } from "#protocol/records/artifact";
export type { BackfillBody, BackfillPreview, BackfillStatus, BackfillValue } from "#protocol/records/backfill";
export type { EmitEventBody, Event, Resource } from "#protocol/records/event";
export type { Flow, FlowOptions, FlowSummary } from "#protocol/records/flow";
export type { GraphEdge, GraphNode, RunGraph } from "#protocol/records/graph";
export type { AcquireResponse } from "#protocol/records/lease";
export type { FoundLog, Log, LogSearchPage } from "#protocol/records/log";
export type { PastWait, Queue, QueuedRun, RunExplanation } from "#protocol/records/queue";
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
} from "#protocol/records/rule";
export type { CreateRunBody, CreateRunForFlowBody, Run, RunCounts, TransitionBody } from "#protocol/records/run";
export type { CreatedRun, CreatedRuns, RefusedRun, RunDefaults, RunOfBatch } from "#protocol/records/run-batch";
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
} from "#protocol/records/schedule";
export type { ScheduleFires, ScheduleRuns } from "#protocol/records/schedule-calendar";
export type {
  ActorInfo,
  ClockAccepted,
  ClockProblem,
  CodeProblem,
  Counts,
  EngineInfo,
  Ready,
  ServerInfo,
  Settings,
  SettingsPatch,
} from "#protocol/records/server";
export type { State, StateType } from "#protocol/records/state";
export type { Stats } from "#protocol/records/stats";
export type { TaskRun } from "#protocol/records/task-run";
export type { FlowTiming, RunStage, RunTiming, StageOfFlow, StageOfRun } from "#protocol/records/timing";
export type { ProjectedFire, UpcomingItem, UpcomingRun } from "#protocol/records/upcoming";
export type { VariableBody, VariablePatch, VariableRow, VariableWithRaw } from "#protocol/records/variable";
export type { Vocabulary } from "#protocol/vocabulary";

/** A JSON object with any fields. */
export type JsonObject = Record<string, unknown>;

/** The filters of a list: its query without paging, each optionally undefined. */
export type FilterOf<Query> = Loose<Omit<Query, "limit" | "cursor">>;

/** A body whose optional fields may also be undefined. */
export type Loose<T> = { [Name in keyof T]?: T[Name] | undefined };

/** Sent on the stream in place of a deleted record. */
export interface Deleted {
  /** The id of the record that was deleted. */
  id: number;
  /** Marks the message as that of a deletion. */
  deleted: true;
}

/** Stream message: log lines of a run were stored. */
export interface LogAppended {
  /** The id of the run. */
  run_id: number;
  /** The id of the newest line. */
  last_id: number;
  /** How many lines were stored. */
  count: number;
}

/** Stream message: a backfill has created its runs. */
export interface BackfillCreated {
  /** The id of the backfill. */
  backfill_id: number;
  /** The id of the flow. */
  flow_id: number;
  /** How many runs were created. */
  count: number;
}

/** Stream message: runs of a backfill were cancelled. */
export interface BackfillUpdated {
  /** The id of the backfill. */
  backfill_id: number;
  /** True when runs were cancelled. */
  cancelled: boolean;
}

/** Stream message about an expectation of a rule. */
export interface ExpectationMessage extends JsonObject {
  /** The id of the expectation. */
  id: number | null;
  /** The id of the rule. */
  rule_id: number;
}

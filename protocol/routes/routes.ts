/**
 * The table of the HTTP interface: one row per endpoint. The gateway routes by this table, and the OpenAPI document and the
 * client are made from it. A row is added together with its implementation.
 */
import Type from "typebox";
import { ErrorBody, TransitionRejected } from "../errors.ts";
import { EXCHANGE_BYTES_MAX, REPORT_BYTES_MAX, RUN_BATCH_BYTES_MAX } from "../limits.ts";
import { ArtifactBody, ArtifactRow, ArtifactsPage, ArtifactsQuery } from "../records/artifact.ts";
import { RetryBody } from "../records/durable.ts";
import {
  FailedRequest,
  FailedResponse,
  HeartbeatRequest,
  HeartbeatResponse,
  ReportRequest,
  ReportResponse,
  WorkRequest,
  WorkResponse,
} from "../records/engine.ts";
import { EmitEventBody, Event, EventsPage, EventsQuery } from "../records/event.ts";
import { ExchangeRequest, ExchangeResponse } from "../records/exchange.ts";
import { FlowSummary, FlowsQuery } from "../records/flow.ts";
import { RunGraph } from "../records/graph.ts";
import { AcquireRequest, AcquireResponse, ReleaseRequest, ReleaseResponse } from "../records/lease.ts";
import { LogSearchPage, LogSearchQuery, LogsPage, LogsQuery } from "../records/log.ts";
import { Queue } from "../records/queue.ts";
import {
  Expectation,
  ExpectationsQuery,
  RuleBody,
  RuleFiring,
  RulePatch,
  RuleRow,
  RuleTest,
  RuleTestQuery,
} from "../records/rule.ts";
import {
  CreateRunBody,
  CreateRunForFlowBody,
  NewRunQuery,
  ResumeBody,
  Run,
  RunCounts,
  RunCountsQuery,
  RunInput,
  RunsPage,
  RunsQuery,
  RunWaitQuery,
  TransitionBody,
} from "../records/run.ts";
import { CreatedRuns, CreateRunsBody, RefusedBatch } from "../records/run-batch.ts";
import {
  ActorInfo,
  ClockAccepted,
  Counts,
  CountsQuery,
  Health,
  Ready,
  ServerInfo,
  Settings,
  SettingsPatch,
  StreamQuery,
} from "../records/server.ts";
import { Stats, StatsQuery } from "../records/stats.ts";
import { TaskRun, TaskRunsPage, TaskRunsQuery } from "../records/task-run.ts";
import { VariableBody, VariablePatch, VariableQuery, VariableRow, VariableWithRaw } from "../records/variable.ts";
import { Vocabulary } from "../vocabulary.ts";
import { DURABLE } from "./durable-routes.ts";
import { PartsQuery } from "./page.ts";
import { type Route, row } from "./route.ts";
import { BACKFILLS, SCHEDULES } from "./schedule-routes.ts";
import { TIMING } from "./timing-routes.ts";

const NONE = null;
const NotFound = { 404: ErrorBody };
const Invalid = { 422: ErrorBody };
const BadQuery = { 400: ErrorBody };

const SERVER: readonly Route[] = [
  row("GET /api/health", "getHealth", "The server is up", "local", { 200: Health }, { auth: false }),
  row(
    "GET /api/ready",
    "getReady",
    "Whether the server takes work: it has read its flow files, can store changes and is not stopping",
    "local",
    { 200: Ready, 503: Ready },
    { auth: false },
  ),
  row("GET /api/server", "getServer", "The server process and its engines", "GetServer", { 200: ServerInfo }),
  row("GET /api/queue", "getQueue", "The waiting runs, what each waits for, and which runs hold it", "GetQueue", { 200: Queue }),
  row("GET /api/actors", "getActors", "The actors of the server and their figures", "GetActors", { 200: Type.Array(ActorInfo) }),
  row(
    "GET /metrics",
    "getMetrics",
    "Metrics for Prometheus; as OpenMetrics if Accept names it",
    "GetMetrics",
    { 200: Type.String() },
    { media_type: "text/plain" },
  ),
  row("GET /api/counts", "getCounts", "Counts of runs and task runs", "read", { 200: Counts }, { query: CountsQuery }),
  row(
    "GET /api/stats",
    "getStats",
    "Runs and task runs that ended lately, by flow and task, with their durations",
    "read",
    { 200: Stats, ...BadQuery },
    { query: StatsQuery },
  ),
  row("GET /api/settings", "getSettings", "Settings in effect", "GetSettings", { 200: Settings }),
  row(
    "PATCH /api/settings",
    "patchSettings",
    "Change settings",
    "PatchSettings",
    { 200: Settings, ...Invalid },
    { body: SettingsPatch },
  ),
  row(
    "POST /api/clock/accept",
    "acceptClock",
    "Accept the machine's clock as right: retention continues, and silent schedules and rules continue from now",
    "AcceptClock",
    { 200: ClockAccepted },
  ),
  row("GET /api/vocabulary", "getVocabulary", "Event names and states", "local", { 200: Vocabulary }),
  row("GET /api/openapi.json", "getOpenapi", "This description", "local", { 200: Type.Object({}) }, { described: false }),
  row(
    "GET /api/stream",
    "stream",
    "Live changes as server-sent events",
    "local",
    { 200: NONE, ...BadQuery, ...Invalid },
    {
      query: StreamQuery,
      media_type: "text/event-stream",
    },
  ),
];

const FLOWS: readonly Route[] = [
  row(
    "GET /api/flows",
    "listFlows",
    "Flows by project and name",
    "read",
    { 200: Type.Array(FlowSummary) },
    { query: FlowsQuery },
  ),
  row("GET /api/flows/{id}", "getFlow", "One flow", "read", { 200: FlowSummary, ...NotFound }),
  row("DELETE /api/flows/{id}", "deleteFlow", "Delete a flow that is not live, and its runs", "DeleteFlow", {
    204: NONE,
    ...NotFound,
    409: ErrorBody,
  }),
  row(
    "POST /api/flows/{id}/runs",
    "createFlowRun",
    "Create a run of a flow",
    "CreateFlowRun",
    { 201: Run, ...NotFound, ...Invalid },
    {
      query: NewRunQuery,
      body: CreateRunForFlowBody,
      idempotency_key: true,
      traceparent: true,
    },
  ),
];

const RUNS: readonly Route[] = [
  row("GET /api/runs", "listRuns", "Runs, newest first", "read", { 200: RunsPage, ...BadQuery }, { query: RunsQuery }),
  row(
    "POST /api/runs",
    "createRun",
    "Create a run, registering its flow if needed",
    "CreateRun",
    { 201: Run, ...NotFound, ...Invalid },
    {
      query: NewRunQuery,
      body: CreateRunBody,
      idempotency_key: true,
      traceparent: true,
    },
  ),
  row(
    "POST /api/runs/batch",
    "createRuns",
    "Create many runs in one commit: all of them or none, or with partial those that can be created",
    "CreateRuns",
    { 201: CreatedRuns, 404: RefusedBatch, 422: RefusedBatch },
    { body: CreateRunsBody, body_bytes_max: RUN_BATCH_BYTES_MAX, idempotency_key: true, traceparent: true },
  ),
  row("GET /api/runs/counts", "countRuns", "Runs by state", "read", { 200: RunCounts, ...BadQuery }, { query: RunCountsQuery }),
  row(
    "GET /api/runs/{id}",
    "getRun",
    "One run; with wait_ms when it has ended or changed",
    "read",
    { 200: Run, ...NotFound },
    { query: RunWaitQuery },
  ),
  row("DELETE /api/runs/{id}", "deleteRun", "Delete a run and what belongs to it", "DeleteRun", { 204: NONE, ...NotFound }),
  row("POST /api/runs/{id}/cancel", "cancelRun", "Cancel a run", "CancelRun", { 200: Run, ...NotFound }),
  row(
    "POST /api/runs/{id}/resume",
    "resumeRun",
    "Answer a paused run",
    "ResumeRun",
    {
      200: Run,
      ...NotFound,
      409: ErrorBody,
      ...Invalid,
    },
    { body: ResumeBody },
  ),
  row(
    "POST /api/runs/{id}/transition",
    "transitionRun",
    "Move a run to a state",
    "TransitionRun",
    {
      200: Run,
      ...NotFound,
      409: TransitionRejected,
      ...Invalid,
    },
    { body: TransitionBody },
  ),
  row("GET /api/runs/{id}/graph", "getRunGraph", "Task runs of a run as a graph", "read", { 200: RunGraph, ...NotFound }),
  row(
    "GET /api/runs/{id}/tasks",
    "listRunTasks",
    "Task runs of a run, oldest first",
    "read",
    { 200: Type.Array(TaskRun), ...BadQuery, ...NotFound },
    { query: PartsQuery },
  ),
  row(
    "GET /api/runs/{id}/artifacts",
    "listRunArtifacts",
    "Artifacts of a run, oldest first",
    "read",
    { 200: Type.Array(ArtifactRow), ...BadQuery, ...NotFound },
    { query: PartsQuery },
  ),
  row(
    "GET /api/runs/{id}/logs",
    "listRunLogs",
    "Log lines of a run, oldest first",
    "read",
    { 200: LogsPage, ...BadQuery, ...NotFound, ...Invalid },
    {
      query: LogsQuery,
    },
  ),
  row(
    "POST /api/runs/{id}/retry",
    "retryRun",
    "Run an ended run again with the same parameters",
    "RetryRun",
    { 201: Run, ...NotFound, 409: ErrorBody, ...Invalid },
    { body: RetryBody, body_required: false, idempotency_key: true },
  ),
  row("GET /api/runs/{id}/input", "getRunInput", "Answers given to a paused run", "read", { 200: RunInput, ...NotFound }),
];

const TASK_RUNS: readonly Route[] = [
  row(
    "GET /api/task-runs",
    "listTaskRuns",
    "Task runs, newest first",
    "read",
    { 200: TaskRunsPage, ...BadQuery },
    { query: TaskRunsQuery },
  ),
  row("GET /api/task-runs/{id}", "getTaskRun", "One task run", "read", { 200: TaskRun, ...NotFound }),
  row(
    "GET /api/task-runs/{id}/artifacts",
    "listTaskRunArtifacts",
    "Artifacts of a task run, oldest first",
    "read",
    { 200: Type.Array(ArtifactRow), ...BadQuery, ...NotFound },
    { query: PartsQuery },
  ),
  row(
    "GET /api/task-runs/{id}/logs",
    "listTaskRunLogs",
    "Log lines of a task run, oldest first",
    "read",
    {
      200: LogsPage,
      ...BadQuery,
      ...NotFound,
      ...Invalid,
    },
    { query: LogsQuery },
  ),
];

const LOGS: readonly Route[] = [
  row(
    "GET /api/logs",
    "searchLogs",
    "Log lines across runs, newest first",
    "read",
    { 200: LogSearchPage, ...BadQuery, ...Invalid },
    { query: LogSearchQuery },
  ),
];

const EVENTS: readonly Route[] = [
  row("GET /api/events", "listEvents", "Events, newest first", "read", { 200: EventsPage, ...BadQuery }, { query: EventsQuery }),
  row(
    "POST /api/events",
    "emitEvent",
    "Record a custom event",
    "EmitEvent",
    { 201: Event, ...NotFound, ...Invalid },
    { body: EmitEventBody, idempotency_key: true },
  ),
  row("GET /api/events/{id}", "getEvent", "One event", "read", { 200: Event, ...NotFound }),
];

const ARTIFACTS: readonly Route[] = [
  row(
    "GET /api/artifacts",
    "listArtifacts",
    "Artifacts across runs, newest first",
    "read",
    { 200: ArtifactsPage, ...BadQuery },
    {
      query: ArtifactsQuery,
    },
  ),
  row(
    "POST /api/artifacts",
    "createArtifact",
    "Publish an artifact",
    "CreateArtifact",
    { 201: ArtifactRow, ...NotFound, ...Invalid },
    {
      body: ArtifactBody,
    },
  ),
];

const RULES: readonly Route[] = [
  row("GET /api/rules", "listRules", "Rules", "read", { 200: Type.Array(RuleRow) }),
  row("POST /api/rules", "createRule", "Create a rule", "CreateRule", { 201: RuleRow, ...Invalid }, { body: RuleBody }),
  row("GET /api/rules/{id}", "getRule", "One rule", "read", { 200: RuleRow, ...NotFound }),
  row(
    "PATCH /api/rules/{id}",
    "patchRule",
    "Change a rule",
    "PatchRule",
    { 200: RuleRow, ...NotFound, 409: ErrorBody, ...Invalid },
    { body: RulePatch },
  ),
  row("DELETE /api/rules/{id}", "deleteRule", "Delete a rule", "DeleteRule", { 204: NONE, ...NotFound, 409: ErrorBody }),
  row("GET /api/rules/{id}/firings", "listRuleFirings", "Firings of a rule, newest first", "read", {
    200: Type.Array(RuleFiring),
  }),
  row(
    "GET /api/rules/{id}/expectations",
    "listRuleExpectations",
    "Expectations of a rule, newest first",
    "read",
    { 200: Type.Array(Expectation), ...BadQuery, ...NotFound },
    { query: ExpectationsQuery },
  ),
  row(
    "POST /api/rules/{id}/test",
    "testRule",
    "Render the actions of a rule against the latest event it matches, or one that is named",
    "read",
    { 200: RuleTest, ...BadQuery, ...NotFound },
    { query: RuleTestQuery },
  ),
];

const VARIABLES: readonly Route[] = [
  row("GET /api/variables", "listVariables", "Variables by name", "read", { 200: Type.Array(VariableRow) }),
  row(
    "POST /api/variables",
    "createVariable",
    "Set a variable",
    "CreateVariable",
    { 201: VariableRow, 409: ErrorBody, ...Invalid },
    { body: VariableBody },
  ),
  row(
    "GET /api/variables/{name}",
    "getVariable",
    "One variable",
    "read",
    { 200: VariableWithRaw, ...BadQuery, ...NotFound },
    { query: VariableQuery },
  ),
  row(
    "PATCH /api/variables/{name}",
    "patchVariable",
    "Change a variable",
    "PatchVariable",
    { 200: VariableRow, ...NotFound, 409: ErrorBody, ...Invalid },
    { body: VariablePatch },
  ),
  row("DELETE /api/variables/{name}", "deleteVariable", "Delete a variable", "DeleteVariable", { 204: NONE, ...NotFound }),
];

const RESOURCES: readonly Route[] = [
  row(
    "POST /api/resources/acquire",
    "acquireLease",
    "Hold shares of resources",
    "AcquireLease",
    {
      200: AcquireResponse,
      ...NotFound,
      ...Invalid,
    },
    { body: AcquireRequest },
  ),
  row(
    "POST /api/resources/release",
    "releaseLease",
    "Give a lease back",
    "ReleaseLease",
    { 200: ReleaseResponse, ...Invalid },
    {
      body: ReleaseRequest,
    },
  ),
];

const ENGINE: readonly Route[] = [
  row("POST /api/engine/work", "work", "Wait for work", "Work", { 200: WorkResponse, ...Invalid }, { body: WorkRequest }),
  row(
    "POST /api/engine/report",
    "report",
    "Report what happened in a run",
    "Report",
    {
      200: ReportResponse,
      ...NotFound,
      413: ErrorBody,
      ...Invalid,
    },
    { body: ReportRequest, body_bytes_max: REPORT_BYTES_MAX },
  ),
  row(
    "POST /api/engine/heartbeat",
    "heartbeat",
    "Say that a run is still executing",
    "Heartbeat",
    { 200: HeartbeatResponse, ...Invalid },
    {
      body: HeartbeatRequest,
    },
  ),
  row(
    "POST /api/engine/exchange",
    "exchange",
    "Report on all runs of an engine and wait for further runs",
    "Exchange",
    { 200: ExchangeResponse, 409: ErrorBody, 413: ErrorBody, ...Invalid },
    { body: ExchangeRequest, body_bytes_max: EXCHANGE_BYTES_MAX },
  ),
  row(
    "POST /api/engine/failed",
    "engineFailed",
    "Say that a module cannot be loaded",
    "EngineFailed",
    { 200: FailedResponse, ...Invalid },
    {
      body: FailedRequest,
    },
  ),
];

/** Every endpoint of the server. */
export const ROUTES: readonly Route[] = [
  ...SERVER,
  ...FLOWS,
  ...SCHEDULES,
  ...BACKFILLS,
  ...RUNS,
  ...DURABLE,
  ...TIMING,
  ...TASK_RUNS,
  ...LOGS,
  ...EVENTS,
  ...ARTIFACTS,
  ...RULES,
  ...VARIABLES,
  ...RESOURCES,
  ...ENGINE,
];

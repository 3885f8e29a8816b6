/**
 * Queries by name, for the reader pool. A result is JSON text (one part of it if it may be long), or null when its subject
 * does not exist. Lists of rows that belong to a run or task run are null for an unknown owner; lists of a flow are empty
 * then.
 */
import type { FullMatch } from "#protocol/records/rule-spec";
import type { RunCountsQuery } from "#protocol/records/run";
import type { Statements } from "../sqlite/statements.ts";
import type { AnswerPart } from "./answer-part.ts";
import { type AnswersArguments, answersOfRun } from "./answers.ts";
import { type ArtifactsArguments, artifactById, artifactsOfRun, artifactsOfTaskRun, artifactsPage } from "./artifacts.ts";
import {
  type BackfillsArguments,
  backfillById,
  backfillCreated,
  backfillsOfFlow,
  backfillUpdated,
  type FlowBackfillsArguments,
  newestBackfills,
  valuesOfBackfill,
} from "./backfill-record.ts";
import { counts } from "./counts.ts";
import { type DurablePageArguments, stepByIdentity, stepsPage, waitsPage } from "./durable-pages.ts";
import { eventById, eventContext } from "./event-record.ts";
import { type EventsArguments, eventsPage } from "./events-page.ts";
import { expectedEvent } from "./expected-event.ts";
import { type FlowsArguments, flowById, flowSummaries, flowSummary } from "./flow-record.ts";
import { type LogSearchArguments, logSearch } from "./log-search.ts";
import { type LogsArguments, logsPage } from "./logs-page.ts";
import { pastWaits } from "./past-waits.ts";
import { type ActionOfEvent, renderedActions } from "./rendered-actions.ts";
import {
  expectationMessage,
  expectationsOfRule,
  type FiringsArguments,
  firingsOfRule,
  lapseMessage,
  type RulesArguments,
  ruleById,
  rules,
} from "./rule-record.ts";
import { ruleTest } from "./rule-test.ts";
import { runCounts } from "./run-counts.ts";
import { type GraphArguments, runGraph } from "./run-graph.ts";
import { runById, runExists } from "./run-record.ts";
import { flowTiming, runTiming } from "./run-timing.ts";
import { type RunsArguments, runsPage } from "./runs-page.ts";
import { type FlowSchedulesArguments, flowSchedules, scheduleById } from "./schedule-record.ts";
import { type ScheduleRunsArguments, scheduleRuns } from "./schedule-runs.ts";
import { stats } from "./stats.ts";
import { taskRunById } from "./task-run-record.ts";
import { type OwnedArguments, type TaskRunsArguments, taskRunsOfRun, taskRunsPage } from "./task-runs-page.ts";
import { type VariablesArguments, variableByName, variables } from "./variable-record.ts";

/** Arguments of each query: plain data, because they cross threads. */
export interface QueryArguments {
  run: { id: number };
  runs: RunsArguments;
  task_run: { id: number };
  task_runs: TaskRunsArguments;
  run_tasks: OwnedArguments;
  run_graph: GraphArguments;
  run_timing: { id: number; now_us: number };
  run_waited: { id: number; at: number | null };
  run_logs: LogsArguments;
  task_run_logs: LogsArguments;
  log_search: LogSearchArguments;
  run_artifacts: OwnedArguments;
  task_run_artifacts: OwnedArguments;
  run_input: AnswersArguments;
  run_steps: DurablePageArguments;
  run_step: { id: number; identity: string };
  run_waits: DurablePageArguments;
  artifact: { id: number };
  artifacts: ArtifactsArguments;
  event: { id: number };
  events: EventsArguments;
  /** `live` holds the ids of flows that the running server registered from code. */
  flow: { id: number; live: readonly number[]; now_us: number };
  flow_summary: { id: number; live: readonly number[]; now_us: number };
  flow_summaries: FlowsArguments;
  flow_schedules: FlowSchedulesArguments;
  flow_timing: { id: number };
  schedule: { id: number; now_us: number };
  backfill: { id: number };
  flow_backfills: FlowBackfillsArguments;
  backfills: BackfillsArguments;
  backfill_values: FlowBackfillsArguments;
  schedule_runs: ScheduleRunsArguments;
  backfill_created: { id: number };
  backfill_updated: { id: number };
  counts: { project: string | null };
  run_counts: { query: RunCountsQuery };
  rule: { id: number };
  rules: RulesArguments;
  rule_firings: FiringsArguments;
  rule_expectations: { id: number; open: boolean; limit: number };
  rule_test: { id: number; event_id: number | null; now_us: number };
  rendered_actions: { items: readonly ActionOfEvent[] };
  expected_event: { match: FullMatch; from_us: number; to_us: number };
  expectation_armed: { id: number };
  expectation_met: { id: number };
  /** `id` is the event that records the lapse. */
  expectation_lapsed: { id: number };
  variable: { name: string; raw?: boolean };
  variables: VariablesArguments;
  stats: { hours: number; now_us: number };
}

export type QueryName = keyof QueryArguments;

type Answer<A> = string | AnswerPart<A> | null;
type Queries = { [N in QueryName]: (statements: Statements, args: QueryArguments[N]) => Answer<QueryArguments[N]> };

function flowContext({ live, now_us, results = 0 }: { live: readonly number[]; now_us: number; results?: number }) {
  const ids = new Set(live);
  return { isLive: (flow: number) => ids.has(flow), nowUs: now_us, results };
}

/** A list of an unknown run is null; if the run is deleted between two parts, the list ends. */
function ofRun<A extends { id: number; made?: number }>(
  statements: Statements,
  args: A,
  read: (statements: Statements, args: A) => AnswerPart<A>,
): AnswerPart<A> | null {
  return args.made !== undefined || runExists(statements, args.id) ? read(statements, args) : null;
}

function runOfTask(statements: Statements, id: number): number | null {
  return statements.raw<[number]>("SELECT run_id FROM task_runs WHERE id = ?").get(id)?.[0] ?? null;
}

export const QUERIES: Queries = {
  run: (statements, { id }) => runById(statements, id),
  runs: (statements, args) => runsPage(statements, args),
  task_run: (statements, { id }) => taskRunById(statements, id),
  task_runs: taskRunsPage,
  run_tasks: (statements, args) => ofRun(statements, args, taskRunsOfRun),
  run_graph: (statements, args) => ofRun(statements, args, runGraph),
  run_waited: (statements, { id, at }) => pastWaits(statements, id, at),
  run_timing: (statements, { id, now_us }) => runTiming(statements, id, now_us),
  run_logs: (statements, args) => ofRun(statements, args, () => logsPage(statements, args.id, null, args)),
  task_run_logs: (statements, args) => {
    const run = runOfTask(statements, args.id);
    return run === null && args.made === undefined ? null : logsPage(statements, run ?? 0, args.id, args);
  },
  log_search: logSearch,
  run_artifacts: (statements, args) => ofRun(statements, args, artifactsOfRun),
  task_run_artifacts: (statements, args) =>
    args.made === undefined && runOfTask(statements, args.id) === null ? null : artifactsOfTaskRun(statements, args),
  run_input: (statements, args) => ofRun(statements, args, answersOfRun),
  run_steps: (statements, args) => ofRun(statements, args, stepsPage),
  run_step: (statements, { id, identity }) => stepByIdentity(statements, id, identity),
  run_waits: (statements, args) => ofRun(statements, args, waitsPage),
  artifact: (statements, { id }) => artifactById(statements, id),
  artifacts: artifactsPage,
  event: (statements, { id }) => eventById(statements, id, eventContext(statements)),
  events: (statements, args) => eventsPage(statements, args, eventContext(statements)),
  flow: (statements, args) => flowById(statements, args.id, flowContext(args)),
  flow_summary: (statements, args) => flowSummary(statements, args.id, flowContext(args)),
  flow_summaries: (statements, args) => flowSummaries(statements, args, flowContext(args)),
  flow_schedules: flowSchedules,
  flow_timing: (statements, { id }) => flowTiming(statements, id),
  schedule: (statements, { id, now_us }) => scheduleById(statements, id, now_us),
  backfill: (statements, { id }) => backfillById(statements, id),
  flow_backfills: backfillsOfFlow,
  backfills: newestBackfills,
  backfill_values: valuesOfBackfill,
  schedule_runs: scheduleRuns,
  backfill_created: (statements, { id }) => backfillCreated(statements, id),
  backfill_updated: (statements, { id }) => backfillUpdated(statements, id),
  stats: (statements, { hours, now_us }) => stats(statements, hours, now_us),
  rule: (statements, { id }) => ruleById(statements, id),
  rules,
  rule_firings: firingsOfRule,
  rule_expectations: (statements, { id, open, limit }) => expectationsOfRule(statements, id, open, limit),
  rule_test: (statements, { id, event_id, now_us }) => ruleTest(statements, id, event_id, now_us),
  rendered_actions: (statements, { items }) => renderedActions(statements, items),
  expected_event: (statements, { match, from_us, to_us }) => expectedEvent(statements, match, from_us, to_us),
  expectation_armed: (statements, { id }) => expectationMessage(statements, id, true),
  expectation_met: (statements, { id }) => expectationMessage(statements, id, false),
  expectation_lapsed: (statements, { id }) => lapseMessage(statements, id),
  variable: (statements, { name, raw }) => variableByName(statements, name, raw === true),
  variables,
  run_counts: (statements, { query }) => runCounts(statements, query),
  counts: (statements, { project }) => counts(statements, project),
};

/** Runs a query on this connection: the first part of its answer, or the part that the arguments name. */
export function runPart<N extends QueryName>(
  statements: Statements,
  name: N,
  args: QueryArguments[N],
): AnswerPart<QueryArguments[N]> | null {
  const answer = QUERIES[name](statements, args);
  return typeof answer === "string" ? { text: answer, next: null } : answer;
}

/** The whole answer as one text, for records and for answers known to be small. */
export function runQuery<N extends QueryName>(statements: Statements, name: N, args: QueryArguments[N]): string | null {
  let part = runPart(statements, name, args);
  if (part === null) return null;
  let text = part.text;
  while (part !== null && part.next !== null) {
    part = runPart(statements, name, part.next);
    text += part?.text ?? "";
  }
  return text;
}

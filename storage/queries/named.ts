/**
 * The queries by name, as the reader pool runs them. A result is JSON text, or null when what it is about does not exist.
 * Lists of what belongs to a run or task run are null for an unknown owner; those of a flow are empty.
 */
import type { ArtifactsQuery } from "#protocol/artifact";
import type { EventsQuery } from "#protocol/event";
import type { LogsQuery } from "#protocol/log";
import type { FullMatch } from "#protocol/rule-spec";
import type { RunCountsQuery, RunsQuery } from "#protocol/run";
import type { TaskRunsQuery } from "#protocol/task-run";
import type { Statements } from "../statements.ts";
import { answersOfRun } from "./answers.ts";
import { artifactById, artifactsOfRun, artifactsOfTaskRun, artifactsPage } from "./artifacts.ts";
import {
  backfillById,
  backfillCreated,
  backfillsOfFlow,
  backfillUpdated,
  newestBackfills,
  valuesOfBackfill,
} from "./backfill-record.ts";
import { counts } from "./counts.ts";
import { eventById, eventContext } from "./event-record.ts";
import { eventsPage } from "./events-page.ts";
import { expectedEvent } from "./expected-event.ts";
import { flowById, flowSummaries, flowSummary } from "./flow-record.ts";
import { logsPage } from "./logs-page.ts";
import { type ActionOfEvent, renderedActions } from "./rendered-actions.ts";
import { expectationMessage, expectationsOfRule, firingsOfRule, lapseMessage, ruleById, rules } from "./rule-record.ts";
import { ruleTest } from "./rule-test.ts";
import { runCounts } from "./run-counts.ts";
import { runGraph } from "./run-graph.ts";
import { runById, runExists } from "./run-record.ts";
import { runsPage } from "./runs-page.ts";
import { scheduleById, schedulesOfFlow } from "./schedule-record.ts";
import { scheduleRuns } from "./schedule-runs.ts";
import { stats } from "./stats.ts";
import { taskRunById } from "./task-run-record.ts";
import { taskRunsOfRun, taskRunsPage } from "./task-runs-page.ts";
import { variableByName, variables } from "./variable-record.ts";

/** What each query takes; plain data, because it crosses threads. */
export interface QueryArguments {
  run: { id: number };
  runs: { query: RunsQuery };
  task_run: { id: number };
  task_runs: { query: TaskRunsQuery };
  run_tasks: { id: number };
  run_graph: { id: number };
  run_logs: { id: number; query: LogsQuery };
  task_run_logs: { id: number; query: LogsQuery };
  run_artifacts: { id: number };
  task_run_artifacts: { id: number };
  run_input: { id: number };
  artifact: { id: number };
  artifacts: { query: ArtifactsQuery };
  event: { id: number };
  events: { query: EventsQuery };
  /** `live` has the ids of flows that the running server has registered from code. */
  flow: { id: number; live: readonly number[]; now_us: number };
  flow_summary: { id: number; live: readonly number[]; now_us: number };
  flow_summaries: { project: string | null; results?: number; live: readonly number[]; now_us: number };
  flow_schedules: { id: number; now_us: number };
  schedule: { id: number; now_us: number };
  backfill: { id: number };
  flow_backfills: { id: number };
  backfills: { limit: number };
  backfill_values: { id: number };
  schedule_runs: { after: number; before: number; each: number };
  backfill_created: { id: number };
  backfill_updated: { id: number };
  counts: { project: string | null };
  run_counts: { query: RunCountsQuery };
  rule: { id: number };
  rules: Record<never, never>;
  rule_firings: { id: number };
  rule_expectations: { id: number; open: boolean; limit: number };
  rule_test: { id: number; event_id: number | null; now_us: number };
  rendered_actions: { items: readonly ActionOfEvent[] };
  expected_event: { match: FullMatch; from_us: number; to_us: number };
  expectation_armed: { id: number };
  expectation_met: { id: number };
  /** By the event that records it. */
  expectation_lapsed: { id: number };
  variable: { name: string; raw?: boolean };
  variables: Record<never, never>;
  stats: { hours: number; now_us: number };
}

export type QueryName = keyof QueryArguments;

type Queries = { [N in QueryName]: (statements: Statements, args: QueryArguments[N]) => string | null };

function flowContext({ live, now_us, results = 0 }: { live: readonly number[]; now_us: number; results?: number }) {
  const ids = new Set(live);
  return { isLive: (flow: number) => ids.has(flow), nowUs: now_us, results };
}

function ofRun(statements: Statements, id: number, read: () => string): string | null {
  return runExists(statements, id) ? read() : null;
}

function runOfTask(statements: Statements, id: number): number | null {
  return statements.raw<[number]>("SELECT run_id FROM task_runs WHERE id = ?").get(id)?.[0] ?? null;
}

export const QUERIES: Queries = {
  run: (statements, { id }) => runById(statements, id),
  runs: (statements, { query }) => runsPage(statements, query),
  task_run: (statements, { id }) => taskRunById(statements, id),
  task_runs: (statements, { query }) => taskRunsPage(statements, query),
  run_tasks: (statements, { id }) => ofRun(statements, id, () => taskRunsOfRun(statements, id)),
  run_graph: (statements, { id }) => ofRun(statements, id, () => runGraph(statements, id)),
  run_logs: (statements, { id, query }) => ofRun(statements, id, () => logsPage(statements, id, null, query)),
  task_run_logs: (statements, { id, query }) => {
    const run = runOfTask(statements, id);
    return run === null ? null : logsPage(statements, run, id, query);
  },
  run_artifacts: (statements, { id }) => ofRun(statements, id, () => artifactsOfRun(statements, id)),
  task_run_artifacts: (statements, { id }) => (runOfTask(statements, id) === null ? null : artifactsOfTaskRun(statements, id)),
  run_input: (statements, { id }) => ofRun(statements, id, () => answersOfRun(statements, id)),
  artifact: (statements, { id }) => artifactById(statements, id),
  artifacts: (statements, { query }) => artifactsPage(statements, query),
  event: (statements, { id }) => eventById(statements, id, eventContext(statements)),
  events: (statements, { query }) => eventsPage(statements, query, eventContext(statements)),
  flow: (statements, args) => flowById(statements, args.id, flowContext(args)),
  flow_summary: (statements, args) => flowSummary(statements, args.id, flowContext(args)),
  flow_summaries: (statements, args) => flowSummaries(statements, args.project, flowContext(args)),
  flow_schedules: (statements, { id, now_us }) => schedulesOfFlow(statements, id, now_us),
  schedule: (statements, { id, now_us }) => scheduleById(statements, id, now_us),
  backfill: (statements, { id }) => backfillById(statements, id),
  flow_backfills: (statements, { id }) => backfillsOfFlow(statements, id),
  backfills: (statements, { limit }) => newestBackfills(statements, limit),
  backfill_values: (statements, { id }) => valuesOfBackfill(statements, id),
  schedule_runs: (statements, { after, before, each }) => scheduleRuns(statements, after, before, each),
  backfill_created: (statements, { id }) => backfillCreated(statements, id),
  backfill_updated: (statements, { id }) => backfillUpdated(statements, id),
  stats: (statements, { hours, now_us }) => stats(statements, hours, now_us),
  rule: (statements, { id }) => ruleById(statements, id),
  rules: (statements) => rules(statements),
  rule_firings: (statements, { id }) => firingsOfRule(statements, id),
  rule_expectations: (statements, { id, open, limit }) => expectationsOfRule(statements, id, open, limit),
  rule_test: (statements, { id, event_id, now_us }) => ruleTest(statements, id, event_id, now_us),
  rendered_actions: (statements, { items }) => renderedActions(statements, items),
  expected_event: (statements, { match, from_us, to_us }) => expectedEvent(statements, match, from_us, to_us),
  expectation_armed: (statements, { id }) => expectationMessage(statements, id, true),
  expectation_met: (statements, { id }) => expectationMessage(statements, id, false),
  expectation_lapsed: (statements, { id }) => lapseMessage(statements, id),
  variable: (statements, { name, raw }) => variableByName(statements, name, raw === true),
  variables: (statements) => variables(statements),
  run_counts: (statements, { query }) => runCounts(statements, query),
  counts: (statements, { project }) => counts(statements, project),
};

/** Runs a query on this connection. */
export function runQuery<N extends QueryName>(statements: Statements, name: N, args: QueryArguments[N]): string | null {
  return QUERIES[name](statements, args);
}

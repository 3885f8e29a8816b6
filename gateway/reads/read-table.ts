/**
 * The query of each GET, and where it runs: on the gateway's own handle for single rows by their key, the schedules of a flow,
 * maintained counts and unfiltered first pages, else in the reader pool, because a scan on this thread would delay all clients.
 */
import { type Refusal, refuse } from "#protocol/errors";
import { RUNS_PAGE } from "#protocol/limits";
import type { QueryArguments, QueryName } from "#storage/queries/named";

/** Inputs of a query besides the request. */
export interface ReadContext {
  /** Flows that the running server has registered from code. */
  live: readonly number[];
  now_us: number;
  /** The decoded `{name}` of the path, empty without one. */
  name: string;
}

export interface Read<N extends QueryName = QueryName> {
  query: N;
  /** Arguments from the id of the path (0 without one) and the parsed query string. */
  arguments(id: number, query: never, context: ReadContext): QueryArguments[N];
  /** True when the query is cheap enough for the gateway's thread. */
  here(query: Readonly<Record<string, unknown>>): boolean;
  /** The refusal when the query finds nothing. */
  missing(id: number, name: string): Refusal;
}

const always = () => true;
const never = () => false;

const runMissing = (id: number) => refuse("run_not_found", id);
const taskRunMissing = (id: number) => refuse("task_run_not_found", id);
const flowMissing = (id: number) => refuse("flow_not_found", id);
const ruleMissing = (id: number) => refuse("rule_not_found", id);
const nothing = () => refuse("not_found");

/** An unfiltered first page of at most the usual size. */
function isFirstPage(query: Readonly<Record<string, unknown>>): boolean {
  for (const name in query) {
    const value = query[name];
    if (value === undefined || value === false) continue;
    if (name === "limit" && Number(value) <= 2 * RUNS_PAGE[0]) continue;
    if (name === "sort" && value === "created_desc") continue;
    return false;
  }
  return true;
}

function read<N extends QueryName>(
  query: N,
  args: (id: number, query: never, context: ReadContext) => QueryArguments[N],
  here: Read["here"],
  missing: Read["missing"] = nothing,
): Read<N> {
  return { query, arguments: args, here, missing };
}

/** Arguments of a list of rows that belong to a run or task run. */
const ofOwner = (id: number, query: { after?: number; limit?: number }) => ({ id, query });

/** By operation of the route table. */
export const READS: Readonly<Record<string, Read>> = {
  getRun: read("run", (id) => ({ id }), always, runMissing),
  listRuns: read("runs", (_id, query: QueryArguments["runs"]["query"]) => ({ query }), isFirstPage),
  // Unfinished runs are counted one by one, and a million may wait.
  countRuns: read("run_counts", (_id, query: QueryArguments["run_counts"]["query"]) => ({ query }), never),
  listRunTasks: read("run_tasks", ofOwner, never, runMissing),
  getRunTiming: read("run_timing", (id, _query, { now_us }) => ({ id, now_us }), always, runMissing),
  listPastWaits: read("run_waited", (id, { at = null }: { at?: number | null }) => ({ id, at }), always, runMissing),
  getRunGraph: read("run_graph", (id) => ({ id }), never, runMissing),
  getRunInput: read("run_input", (id) => ({ id }), always, runMissing),
  listRunArtifacts: read("run_artifacts", ofOwner, never, runMissing),
  listRunLogs: read("run_logs", (id, query: QueryArguments["run_logs"]["query"]) => ({ id, query }), never, runMissing),
  listRunSteps: read("run_steps", (id, query: QueryArguments["run_steps"]["query"]) => ({ id, query }), never, runMissing),
  getRunStep: read("run_step", (id, _query, { name: identity }) => ({ id, identity }), always),
  // An engine with open waits reads this up to four times a second.
  listRunWaits: read("run_waits", (id, query: QueryArguments["run_waits"]["query"]) => ({ id, query }), always, runMissing),
  getTaskRun: read("task_run", (id) => ({ id }), always, taskRunMissing),
  listTaskRuns: read("task_runs", (_id, query: QueryArguments["task_runs"]["query"]) => ({ query }), isFirstPage),
  listTaskRunArtifacts: read("task_run_artifacts", ofOwner, never, taskRunMissing),
  listTaskRunLogs: read(
    "task_run_logs",
    (id, query: QueryArguments["task_run_logs"]["query"]) => ({ id, query }),
    never,
    taskRunMissing,
  ),
  getFlow: read("flow_summary", (id, _query, { live, now_us }) => ({ id, live, now_us }), never, flowMissing),
  listFlows: read(
    "flow_summaries",
    (_id, query: { project?: string; reference?: string; results: number }, { live, now_us }) => ({
      project: query.project ?? null,
      ...(query.reference !== undefined && { reference: query.reference }),
      results: query.results,
      live,
      now_us,
    }),
    never,
  ),
  getFlowTiming: read("flow_timing", (id) => ({ id }), never, flowMissing),
  listSchedules: read("flow_schedules", (id, _query, { now_us }) => ({ id, now_us }), always),
  getBackfill: read(
    "backfill",
    (id) => ({ id }),
    never,
    (id) => refuse("backfill_not_found", id),
  ),
  listBackfills: read("flow_backfills", (id) => ({ id }), never),
  listAllBackfills: read("backfills", (_id, query: { limit: number }) => query, never),
  listBackfillValues: read(
    "backfill_values",
    (id) => ({ id }),
    never,
    (id) => refuse("backfill_not_found", id),
  ),
  listScheduleRuns: read("schedule_runs", (_id, query: QueryArguments["schedule_runs"]) => query, never),
  getEvent: read(
    "event",
    (id) => ({ id }),
    always,
    (id) => refuse("event_not_found", id),
  ),
  listEvents: read("events", (_id, query: QueryArguments["events"]["query"]) => ({ query }), isFirstPage),
  searchLogs: read("log_search", (_id, query: QueryArguments["log_search"]["query"]) => ({ query }), never),
  listArtifacts: read("artifacts", (_id, query: QueryArguments["artifacts"]["query"]) => ({ query }), never),
  getRule: read("rule", (id) => ({ id }), always, ruleMissing),
  listRules: read("rules", () => ({}), never),
  listRuleFirings: read("rule_firings", (id) => ({ id }), never),
  listRuleExpectations: read(
    "rule_expectations",
    (id, { open, limit }: { open: boolean; limit: number }) => ({ id, open, limit }),
    never,
    ruleMissing,
  ),
  testRule: read(
    "rule_test",
    (id, { event_id }: { event_id?: number }, { now_us }) => ({ id, event_id: event_id ?? null, now_us }),
    never,
    ruleMissing,
  ),
  getVariable: read(
    "variable",
    (_id, query: { raw: boolean }, { name }) => ({ name, raw: query.raw }),
    always,
    (_id, name) => refuse("variable_not_found", name),
  ),
  listVariables: read("variables", () => ({}), never),
  getStats: read("stats", (_id, query: { hours: number }, context) => ({ hours: query.hours, now_us: context.now_us }), never),
  getCounts: read("counts", (_id, query: { project?: string }) => ({ project: query.project ?? null }), always),
};

/** The tools on flows and runs: calls of the API, and the keys of the results. */
import type { Static } from "typebox";
import { EVENTS_PAGE, MCP_TASK_RUNS_PAGE, WAIT_MS_MAX } from "#protocol/limits";
import type { RUN_TOOLS } from "#protocol/mcp/mcp-run-tools";
import type { McpTool } from "#protocol/mcp/mcp-tool";
import type { ArtifactsPage } from "#protocol/records/artifact";
import type { EventsPage } from "#protocol/records/event";
import type { FlowSummary } from "#protocol/records/flow";
import type { LogSearchPage, LogsPage } from "#protocol/records/log";
import type { RunExplanation } from "#protocol/records/queue";
import type { Run, RunsPage } from "#protocol/records/run";
import { isTerminal, type StateType } from "#protocol/records/state";
import type { TaskRun, TaskRunsPage } from "#protocol/records/task-run";
import { checkMatchedName } from "#protocol/vocabulary";
import type { AskApi } from "./api-calls.ts";
import { findFlow, flowFilter, requireFlow } from "./flow-reference.ts";
import { ToolFailure } from "./tool-failure.ts";

export interface ToolContext {
  ask: AskApi;
  /** Name of the calling client. */
  client: string;
}

export type ToolResult = Record<string, unknown>;

/** One handler per tool of a table; its arguments have the type of the tool's input schema. */
export type Handlers<T extends Record<string, McpTool>> = {
  readonly [N in keyof T]: (context: ToolContext, args: Static<T[N]["input"]>) => Promise<ToolResult>;
};

/** Lowest level of the log lines in explain_failure. */
const WARNING_LEVEL = 30;
/** Number of last log lines in explain_failure. More would bury the cause. */
const ERROR_LOGS_MAX = 200;
/** Number of last log lines in wait_for_run, which an agent may call many times. */
const WAIT_LOGS_MAX = 20;

export const RUN_HANDLERS: Handlers<typeof RUN_TOOLS> = {
  list_flows: async ({ ask }, { project }) => {
    const flows = (await ask("listFlows", { query: { project } })) as FlowSummary[];
    return { flows: flows.map(describeFlow) };
  },
  list_runs: async ({ ask }, { flow, project, name, ...filters }) => {
    const query = { ...filters, ...flowFilter({ project, flow }), exact_name: name };
    const page = (await ask("listRuns", { query })) as RunsPage;
    if (page.items.length === 0) await requireFlow(ask, flow, project);
    return { runs: page.items, next_cursor: page.next_cursor };
  },
  get_run: async ({ ask }, { run_id: id, limit, cursor }) => {
    const run = await ask("getRun", { id });
    const page = (await ask("listTaskRuns", { query: { run_id: id, limit, cursor } })) as TaskRunsPage;
    const rest = page.next_cursor === null ? {} : { next_cursor: page.next_cursor };
    return { run, task_runs: page.items.reverse(), ...rest };
  },
  wait_for_run: async ({ ask }, { run_id: id, timeout_s = 30 }) => {
    const run = await awaitedRun(ask, id, timeout_s * 1000);
    const ended = isTerminal(run.state.type);
    const { logs } = await logsOfRun(ask, id, { level: WARNING_LEVEL, limit: WAIT_LOGS_MAX, tail: true });
    const waits_for = ended ? null : await waitsFor(ask, id);
    const { result = null, ...details } = run.state.details ?? {};
    return { run_id: id, ended, state: { ...run.state, details }, result, waits_for, logs };
  },
  explain_run: async ({ ask }, { run_id: id }) => {
    const explanation = (await ask("explainRun", { id })) as RunExplanation;
    return { explanation: { ...explanation, waited: await ask("listPastWaits", { id }) } };
  },
  run_logs: async ({ ask }, { run_id: id, min_level: level, search, tail, limit, cursor: after }) =>
    logsOfRun(ask, id, { level, search, tail, limit, after }),
  search_logs: async ({ ask }, { search: q, flow, project, run_id, min_level: level, limit, cursor: after }) => {
    const runs = flow === undefined ? { project } : { flow_id: (await findFlow(ask, flow, project)).id };
    const page = (await ask("searchLogs", { query: { q, ...runs, run_id, level, limit, after } })) as LogSearchPage;
    return { logs: page.items, next_cursor: page.next_cursor, searched_until: page.searched_until };
  },
  list_events: async ({ ask }, query) => {
    const wrong = query.name === undefined ? null : checkMatchedName(query.name);
    if (wrong !== null) throw new ToolFailure(`${wrong}. Correct the name and call again.`);
    const page = (await ask("listEvents", { query })) as EventsPage;
    return { events: page.items, next_cursor: page.next_cursor };
  },
  list_artifacts: async ({ ask }, { flow, project, cursor: after, ...filters }) => {
    const page = (await ask("listArtifacts", {
      query: { ...filters, ...flowFilter({ project, flow }), after },
    })) as ArtifactsPage;
    if (page.items.length === 0) await requireFlow(ask, flow, project);
    return { artifacts: page.items, next_cursor: page.next_cursor };
  },
  explain_failure: async ({ ask }, { run_id: id }) => {
    const run = (await ask("getRun", { id })) as Run;
    const failed = [...(await tasksOfRun(ask, id, "Failed")), ...(await tasksOfRun(ask, id, "Crashed"))];
    const logs = await logsOfRun(ask, id, { level: WARNING_LEVEL, limit: ERROR_LOGS_MAX, tail: true });
    const events = (await ask("listEvents", { query: { run_id: id, limit: EVENTS_PAGE[0] } })) as EventsPage;
    return {
      error_logs: logs.logs,
      events: events.items,
      failed_task_runs: failed.sort((a, b) => a.id - b.id),
      run,
      verdict: verdictOn(run),
    };
  },
  run_flow: async ({ ask, client }, { flow: reference, parameters, name, tags }) => {
    const { project, name: flow } = await findFlow(ask, reference);
    const body = { project, flow, parameters, name, tags, created_by: `mcp:${client}` };
    const run = (await ask("createRun", { body })) as Run;
    return { note: noteOn(run), run };
  },
  cancel_run: async ({ ask }, { run_id: id }) => ({ run: await ask("cancelRun", { id }) }),
  retry_run: async ({ ask }, { run_id: id, from }) => {
    const run = (await ask("retryRun", { id, body: { from } })) as Run;
    return { note: noteOn(run), run };
  },
  resume_run: async ({ ask }, { run_id: id, input }) => ({ run: await ask("resumeRun", { id, body: { input } }) }),
};

/** The run when it has ended or the time is over; one request waits for at most half a minute. */
async function awaitedRun(ask: AskApi, id: number, waitMs: number): Promise<Run> {
  for (let leftMs = waitMs; ; leftMs -= WAIT_MS_MAX) {
    const run = (await ask("getRun", { id, query: { wait_ms: Math.min(leftMs, WAIT_MS_MAX) } })) as Run;
    if (isTerminal(run.state.type) || leftMs <= WAIT_MS_MAX) return run;
  }
}

/** What the run waits for; null if it waits for nothing, and if the core does not answer, as while the server stops. */
async function waitsFor(ask: AskApi, id: number): Promise<string | null> {
  try {
    const { reason } = (await ask("explainRun", { id })) as RunExplanation;
    return reason?.text ?? null;
  } catch (cause) {
    if (cause instanceof ToolFailure && cause.status !== 404) return `what the run waits for is not known: ${cause.message}`;
    throw cause;
  }
}

/** The newest task runs of a run in a given state. */
async function tasksOfRun(ask: AskApi, run_id: number, state_type: StateType): Promise<TaskRun[]> {
  return ((await ask("listTaskRuns", { query: { run_id, state_type, limit: MCP_TASK_RUNS_PAGE[0] } })) as TaskRunsPage).items;
}

const FLOW_FIELDS = ["description", "error", "id", "live", "name", "options", "parameter_schema", "project", "tags"] as const;

function describeFlow(flow: FlowSummary): ToolResult {
  return Object.fromEntries(FLOW_FIELDS.map((field) => [field, flow[field]]));
}

/** Log lines of a run; none for an unknown run. */
export async function logsOfRun(
  ask: AskApi,
  id: number,
  query: Readonly<Record<string, unknown>>,
): Promise<{ logs: LogsPage["items"]; next_cursor: number | null }> {
  try {
    const page = (await ask("listRunLogs", { id, query })) as LogsPage;
    return { logs: page.items, next_cursor: page.next_cursor };
  } catch (cause) {
    if (cause instanceof ToolFailure && cause.status === 404) return { logs: [], next_cursor: null };
    throw cause;
  }
}

function hasFailed({ type }: Run["state"]): boolean {
  return type === "Failed" || type === "Crashed";
}

function verdictOn({ state }: Run): string {
  if (!hasFailed(state)) return `the run is ${state.name}, not failed`;
  return state.message ?? `the run is ${state.name}; no message was recorded`;
}

function noteOn({ id, state }: Run): string {
  if (isTerminal(state.type))
    return `Run ${id} has ended already as ${state.name}: ${state.message ?? "no message was recorded"}.`;
  return `Run ${id} was created; this call did not wait for it. Wait for it with wait_for_run, and call explain_failure if it fails.`;
}

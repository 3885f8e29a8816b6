/** Tools for flows, runs and their records. */
import Type from "typebox";
import {
  ANSWER_BYTES_MAX,
  MCP_ARTIFACTS_PAGE,
  MCP_EVENTS_PAGE,
  MCP_LOG_SEARCH_PAGE,
  MCP_LOGS_PAGE,
  MCP_RUNS_PAGE,
  MCP_TASK_RUNS_PAGE,
  MCP_WAIT_SECONDS_MAX,
  PARAMETERS_BYTES_MAX,
} from "../limits.ts";
import { ARTIFACT_KINDS, ArtifactListItem } from "../records/artifact.ts";
import { Event } from "../records/event.ts";
import { FlowOptions } from "../records/flow.ts";
import { FoundLog, Log } from "../records/log.ts";
import { Run } from "../records/run.ts";
import { STATE_TYPES } from "../records/state.ts";
import { TaskRun } from "../records/task-run.ts";
import { AnyJson, about, FreeMap, Names, nullable, Strings, sizedJson } from "../values/scalar.ts";
import {
  ADDS,
  CURSOR,
  EARLIER_CURSOR,
  ENDS,
  FLOW,
  FLOW_FILTER,
  input,
  limit,
  type McpTool,
  NEXT_CURSOR,
  oneOf,
  output,
  PROJECT,
  READS,
  RUN_ID,
  text,
  whole,
} from "./mcp-tool.ts";

/** A flow as list_flows describes it. */
const ListedFlow = Type.Object({
  id: Type.Integer(),
  project: Type.String(),
  name: Type.String(),
  description: nullable(Type.String()),
  live: Type.Boolean(),
  error: nullable(Type.String()),
  tags: Strings,
  parameter_schema: FreeMap,
  options: FlowOptions,
});

const MIN_LEVEL = whole("Lowest level: 10 debug, 20 info, 30 warning, 40 error");

export const RUN_TOOLS = {
  list_flows: {
    title: "List flows",
    description:
      "Flows that can be run, by project and name, with their parameter_schema, tags and options. " +
      "`live` is true where the running server has the flow's code; `error` says why code could not be loaded.",
    input: input({ project: PROJECT }),
    output: output({ flows: Type.Array(ListedFlow) }),
    annotations: READS,
  },
  list_runs: {
    title: "List runs",
    description: "Runs, newest first, with state, parameters, times and creator. Filters combine.",
    input: input({
      flow: FLOW_FILTER,
      project: PROJECT,
      name: Type.Optional(text("Exact name of the run")),
      state_type: Type.Optional(oneOf(STATE_TYPES, "Only runs in a state of this type")),
      state_name: Type.Optional(text("A sub-state, such as Late or AwaitingRetry; engines may use names of their own")),
      limit: limit(MCP_RUNS_PAGE, "runs"),
      cursor: CURSOR,
    }),
    output: output({ runs: Type.Array(Run), next_cursor: NEXT_CURSOR }),
    annotations: READS,
  },
  get_run: {
    title: "Get a run",
    description:
      "One run and its newest task runs, oldest first; the cursor leads to earlier ones. What the flow returned is in state.details.result, an error in state.message.",
    input: input({ run_id: RUN_ID, limit: limit(MCP_TASK_RUNS_PAGE, "task runs"), cursor: CURSOR }),
    output: output({ run: Run, task_runs: Type.Array(TaskRun), next_cursor: EARLIER_CURSOR }),
    annotations: READS,
  },
  wait_for_run: {
    title: "Wait for a run",
    description:
      "Returns when the run has ended, or after timeout_s: state, result, last log lines from warning upwards, and what a run " +
      "that has not started waits for. Call it again while ended is false.",
    input: input({
      run_id: RUN_ID,
      timeout_s: Type.Optional(
        Type.Integer({ description: "How long to wait, in seconds", minimum: 1, maximum: MCP_WAIT_SECONDS_MAX, default: 30 }),
      ),
    }),
    output: output({
      run_id: Type.Integer(),
      ended: Type.Boolean(),
      state: FreeMap,
      result: AnyJson,
      waits_for: nullable(Type.String()),
      logs: Type.Array(FreeMap),
    }),
    annotations: READS,
  },
  explain_run: {
    title: "Explain a wait",
    description: "Why a run has not started: the reason, its place in the queue, and the runs that hold what it waits for.",
    input: input({ run_id: RUN_ID }),
    output: output({ explanation: FreeMap }),
    annotations: READS,
  },
  run_logs: {
    title: "Read the log of a run",
    description: "Log lines of a run, oldest first. Empty when the run has none or does not exist.",
    input: input({
      run_id: RUN_ID,
      min_level: Type.Optional(MIN_LEVEL),
      search: Type.Optional(text("Only lines with this text, case ignored")),
      tail: Type.Optional(
        Type.Boolean({ description: "The last lines instead of the first ones; still oldest first", default: false }),
      ),
      limit: limit(MCP_LOGS_PAGE, "lines"),
      cursor: CURSOR,
    }),
    output: output({ logs: Type.Array(Log), next_cursor: NEXT_CURSOR }),
    annotations: READS,
  },
  search_logs: {
    title: "Search all logs",
    description:
      "Log lines of all runs, newest first, each with its run and flow. A page may hold fewer lines than asked for, or none, while " +
      "next_cursor leads on; searched_until says how far back it came.",
    input: input({
      search: Type.Optional(text("Only lines with this text, case ignored")),
      flow: FLOW_FILTER,
      project: PROJECT,
      run_id: Type.Optional(whole("Only lines of this run")),
      min_level: Type.Optional(MIN_LEVEL),
      limit: limit(MCP_LOG_SEARCH_PAGE, "lines"),
      cursor: CURSOR,
    }),
    output: output({ logs: Type.Array(FoundLog), next_cursor: NEXT_CURSOR, searched_until: nullable(Type.Integer()) }),
    annotations: READS,
  },
  list_events: {
    title: "List events",
    description: "What happened, newest first: changes of runs, task runs and flows, and custom events.",
    input: input({
      name: Type.Optional(text("Exact name, such as run.failed, or a prefix ending in *")),
      run_id: Type.Optional(whole("Only events of this run")),
      flow_id: Type.Optional(whole("Only events of this flow")),
      limit: limit(MCP_EVENTS_PAGE, "events"),
      cursor: CURSOR,
    }),
    output: output({ events: Type.Array(Event), next_cursor: NEXT_CURSOR }),
    annotations: READS,
  },
  list_artifacts: {
    title: "List artifacts",
    description: "Records that runs published for display, newest first. Artifacts with one key are a history.",
    input: input({
      run_id: Type.Optional(whole("Only artifacts of this run")),
      flow: FLOW_FILTER,
      project: PROJECT,
      key: Type.Optional(text("Only artifacts with this key")),
      kind: Type.Optional(oneOf(ARTIFACT_KINDS, "Only artifacts of this kind")),
      limit: limit(MCP_ARTIFACTS_PAGE, "artifacts"),
      cursor: CURSOR,
    }),
    output: output({ artifacts: Type.Array(ArtifactListItem), next_cursor: NEXT_CURSOR }),
    annotations: READS,
  },
  explain_failure: {
    title: "Explain a failure",
    description:
      "Everything needed to say why a run failed: the verdict, the run, its failed task runs, the last log lines from warning " +
      "upwards (oldest first) and its events (newest first). Where error_logs says too little, call run_logs with tail.",
    input: input({ run_id: RUN_ID }),
    output: output({
      verdict: text("Why the run failed, or that it did not"),
      run: Run,
      failed_task_runs: Type.Array(TaskRun),
      error_logs: Type.Array(Log),
      events: Type.Array(Event),
    }),
    annotations: READS,
  },
  run_flow: {
    title: "Run a flow",
    description: "Creates a run of a flow and returns without waiting for it. Parameters are checked against the flow's schema.",
    input: input({
      flow: FLOW,
      parameters: Type.Optional(sizedJson(PARAMETERS_BYTES_MAX, FreeMap)),
      name: Type.Optional(text("Name of the run; generated when unset")),
      tags: Type.Optional(about("Tags of the run, besides the flow's own", Names)),
    }),
    output: output({ run: Run, note: text("What to do next") }),
    annotations: ADDS,
  },
  cancel_run: {
    title: "Cancel a run",
    description:
      "Cancels a run: at once where it has not started, else its code is asked to stop. A run that has ended stays as it is.",
    input: input({ run_id: RUN_ID }),
    output: output({ run: Run }),
    annotations: ENDS,
  },
  retry_run: {
    title: "Run again",
    description:
      "A new run with the parameters of a run that has ended. A durable run that did not complete goes on where it failed, " +
      "unless `from` names another place.",
    input: input({
      run_id: RUN_ID,
      from: Type.Optional(text("start, failure, or the dynamic_key of one of its task runs, which is the first to run again")),
    }),
    output: output({ run: Run, note: text("What to do next") }),
    annotations: ADDS,
  },
  resume_run: {
    title: "Answer a paused run",
    description: "Gives a Paused run the answer it waits for and schedules its next attempt.",
    input: input({ run_id: RUN_ID, input: sizedJson(ANSWER_BYTES_MAX, AnyJson, "The answer: any JSON value") }),
    output: output({ run: Run }),
    annotations: ADDS,
  },
} as const satisfies Record<string, McpTool>;

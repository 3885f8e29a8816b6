/** Tools on flows, runs and what they leave behind. */
import Type from "typebox";
import { ARTIFACT_KINDS } from "./artifact.ts";
import { MCP_ARTIFACTS_PAGE, MCP_EVENTS_PAGE, MCP_LOGS_PAGE, MCP_RUNS_PAGE } from "./limits.ts";
import {
  ADDS,
  CURSOR,
  ENDS,
  FLOW,
  FLOW_FILTER,
  input,
  limit,
  type McpTool,
  PROJECT,
  READS,
  RUN_ID,
  text,
  whole,
} from "./mcp-tool.ts";
import { FreeMap } from "./scalar.ts";
import { STATE_TYPES } from "./state.ts";

export const RUN_TOOLS = {
  list_flows: {
    title: "List flows",
    description:
      "Flows that can be run, by project and name, with their parameter_schema, tags and options. " +
      "`live` is true where the running server has the flow's code; `error` says why code could not be loaded.",
    input: input({ project: PROJECT }),
    annotations: READS,
    operations: ["listFlows"],
  },
  list_runs: {
    title: "List runs",
    description: "Runs, newest first, with state, parameters, times and creator. Filters combine.",
    input: input({
      flow: FLOW_FILTER,
      project: PROJECT,
      name: Type.Optional(text("Exact name of the run")),
      state_type: Type.Optional(text(`One of ${STATE_TYPES.join(", ")}`)),
      state_name: Type.Optional(text("A sub-state, such as Late or AwaitingRetry")),
      limit: limit(MCP_RUNS_PAGE, "runs"),
      cursor: CURSOR,
    }),
    annotations: READS,
    operations: ["listRuns"],
  },
  get_run: {
    title: "Get a run",
    description: "One run and its task runs. What the flow returned is in state.details.result, an error in state.message.",
    input: input({ run_id: RUN_ID }),
    annotations: READS,
    operations: ["getRun", "listRunTasks"],
  },
  run_logs: {
    title: "Read the log of a run",
    description: "Log lines of a run, oldest first. Empty when the run has none or does not exist.",
    input: input({
      run_id: RUN_ID,
      min_level: Type.Optional(whole("Lowest level: 10 debug, 20 info, 30 warning, 40 error")),
      search: Type.Optional(text("Only lines with this text, case ignored")),
      limit: limit(MCP_LOGS_PAGE, "lines"),
      cursor: CURSOR,
    }),
    annotations: READS,
    operations: ["listRunLogs"],
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
    annotations: READS,
    operations: ["listEvents"],
  },
  list_artifacts: {
    title: "List artifacts",
    description: "Records that runs published for display, newest first. Artifacts with one key are a history.",
    input: input({
      run_id: Type.Optional(whole("Only artifacts of this run")),
      flow: FLOW_FILTER,
      project: PROJECT,
      key: Type.Optional(text("Only artifacts with this key")),
      kind: Type.Optional(text(`One of ${ARTIFACT_KINDS.join(", ")}`)),
      limit: limit(MCP_ARTIFACTS_PAGE, "artifacts"),
      cursor: CURSOR,
    }),
    annotations: READS,
    operations: ["listArtifacts"],
  },
  explain_failure: {
    title: "Explain a failure",
    description:
      "Everything needed to say why a run failed: the verdict, the run, its failed task runs, log lines from warning upwards " +
      "(oldest first) and its events (newest first).",
    input: input({ run_id: RUN_ID }),
    annotations: READS,
    operations: ["getRun", "listRunTasks", "listRunLogs", "listEvents"],
  },
  run_flow: {
    title: "Run a flow",
    description: "Creates a run of a flow and returns without waiting for it. Parameters are checked against the flow's schema.",
    input: input({
      flow: FLOW,
      parameters: Type.Optional(FreeMap),
      name: Type.Optional(text("Name of the run; generated when unset")),
      tags: Type.Optional(Type.Array(Type.String(), { description: "Tags of the run, besides the flow's own" })),
    }),
    annotations: ADDS,
    operations: ["listFlows", "createRun"],
  },
  cancel_run: {
    title: "Cancel a run",
    description:
      "Cancels a run: at once where it has not started, else its code is asked to stop. A run that has ended stays as it is.",
    input: input({ run_id: RUN_ID }),
    annotations: ENDS,
    operations: ["cancelRun"],
  },
  resume_run: {
    title: "Answer a paused run",
    description: "Gives a Paused run the answer it waits for and schedules its next attempt.",
    input: input({ run_id: RUN_ID, input: Type.Unknown({ description: "The answer: any JSON value" }) }),
    annotations: ADDS,
    operations: ["resumeRun"],
  },
} as const satisfies Record<string, McpTool>;

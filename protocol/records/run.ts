/** Runs of flows: the record, the page, and the bodies that create, resume and move a run. */
import Type, { type Static } from "typebox";
import {
  ANSWER_BYTES_MAX,
  DETAILS_BYTES_MAX,
  FLOW_BYTES_MAX,
  MESSAGE_LENGTH_MAX,
  NAME_LENGTH_MAX,
  PARAMETERS_BYTES_MAX,
  PATH_LENGTH_MAX,
  RUNS_PAGE,
  SEARCH_LENGTH_MAX,
  SEARCHED_PARAMETERS_BYTES_MAX,
  STATE_NAME_LENGTH_MAX,
  WAIT_MS_MAX,
} from "../limits.ts";
import { RUN_FIELDS_TO_COME } from "../routes/fields-to-come.ts";
import { pageLimit, pageOf } from "../routes/page.ts";
import {
  AnyJson,
  about,
  FreeMap,
  Id,
  Int32,
  Int64,
  LongText,
  mapOf,
  Names,
  NameText,
  nullable,
  optional,
  PathText,
  ReportedTime,
  Strings,
  sizedJson,
  Timestamp,
} from "../values/scalar.ts";
import { FlowOptions } from "./flow.ts";
import { StateSchema, StateTypeSchema } from "./state-schema.ts";

/** The name of a flow or project. */
export const NonEmpty = Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX });
const NonEmptyPath = Type.String({ minLength: 1, maxLength: PATH_LENGTH_MAX });

/** Fields of a run, shared with the entries of upcoming lists. */
export const RUN_FIELDS = {
  id: Int64,
  external_id: Id,
  name: Type.String(),
  project: Type.String(),
  flow_id: Int64,
  flow_name: Type.String(),
  group: Type.Optional(about("Group of its flow", Type.String())),
  state: StateSchema,
  parameters: Type.Optional(FreeMap),
  tags: Type.Optional(about("Those of the flow included", Strings)),
  attempt: Type.Optional(
    about("0 in the first attempt; retries and reruns after a crash count up, over the chain of reruns", Int64),
  ),
  priority: Type.Optional(about("Higher starts first", Int64)),
  created_by: Type.Optional(
    about("client, schedule, catchup, mcp:<client>, rule:<id>, backfill:<id>, run:<id>, crash:<id>, retry:<id>", Type.String()),
  ),
  created_at: Timestamp,
  start_time: Type.Optional(nullable(about("When the code of the run first started", Timestamp))),
  end_time: Type.Optional(nullable(Timestamp)),
  total_run_time: Type.Optional(nullable(about("Microseconds from the start to the end of the run", Int64))),
  scheduled_time: Type.Optional(nullable(about("When it is due", Timestamp))),
  fire_time: Type.Optional(
    about("Time of the fire that the run is for; only for runs of schedules, their crash reruns and retries", Timestamp),
  ),
  schedule_id: Type.Optional(nullable(Int64)),
  backfill_id: Type.Optional(nullable(Int64)),
  parent_run_id: Type.Optional(nullable(about("The run that crashed, or that it is a retry of", Int64))),
  lineage_id: Type.Optional(
    about("For durable runs that were handed out, and for children: the first run of the chain of crash reruns", Int64),
  ),
  caller_run_id: Type.Optional(about("For a child: the run that started it", Int64)),
  engine_id: Type.Optional(nullable(about("The engine that executes or executed the run", Type.String()))),
  engine_pid: Type.Optional(nullable(Int64)),
  crash_count: Int32,
  failure_count: about("Failed attempts, retried ones included", Int32),
  report_seq: Type.Optional(about("Last report number of its engine", Int64)),
  task_counts: Type.Optional(about("Task runs by state type", mapOf(Int64))),
  traceparent: Type.Optional(
    about("Header of W3C Trace Context that the run was created with, or the run that it repeats; only then", Type.String()),
  ),
};

/** A run of a flow. Times and durations are microseconds. */
export type Run = Required<Omit<Static<typeof RunFields>, "traceparent">> & { traceparent?: string };
const RunFields = Type.Object(RUN_FIELDS);
export const Run = Type.Unsafe<Run>(
  Type.Object(
    {
      ...RUN_FIELDS,
      stream_seq: Type.Optional(
        about("Only in answers to requests with wait_ms: the run shows every change up to this number of the stream", Int64),
      ),
    },
    { title: "Run" },
  ),
);

/** The answer to a request with `wait_ms`; a server without waits sends no `stream_seq`. */
export type AwaitedRun = Run & { stream_seq?: number };

export type WaitUntil = "ended" | "changed";

const WaitMs = Type.Integer({
  minimum: 0,
  maximum: WAIT_MS_MAX,
  description: `How long to wait, at most ${WAIT_MS_MAX}; then the answer is the run as it is`,
});

/** Query of GET /api/runs/{id}. */
export const RunWaitQuery = Type.Object({
  wait_ms: Type.Optional(WaitMs),
  until: Type.Optional(
    about("ended (default), or changed: the answer comes when the run has ended, or with its next change", Type.String()),
  ),
  since: Type.Optional(
    about(
      "stream_seq of the answer before: a change since then is answered at once, and so is a number from before a restart",
      Int64,
    ),
  ),
});

/** Query of the creation of a run. */
export const NewRunQuery = Type.Object({
  wait_ms: Type.Optional(about("The answer comes when the run has ended, with its result in state.details.result", WaitMs)),
});

export const RunsPage = pageOf("RunsPage", Run);
export type RunsPage = Static<typeof RunsPage>;

/** What a creation by name holds besides flow and project; shared with batches of runs. */
export const NEW_RUN_FIELDS = {
  created_by: optional(NameText),
  description: optional(about("Of the flow", LongText)),
  flow_group: optional(about("Left out, the group stays as it is", NameText)),
  flow_tags: Type.Optional(Names),
  module: optional(about("File of the flow below source_dir; with it the flow is registered or updated", NonEmptyPath)),
  name: optional(about("Name of the run; generated when left out", NameText)),
  options: optional(FlowOptions),
  parameter_schema: optional(sizedJson(FLOW_BYTES_MAX, FreeMap, "JSON Schema of the flow's parameters")),
  parameters: Type.Optional(
    sizedJson(PARAMETERS_BYTES_MAX, FreeMap, "Checked against parameter_schema, whose defaults fill what is left out"),
  ),
  source_dir: optional(about("Absolute folder of the module", PathText)),
  tags: Type.Optional(about("Besides those of the flow", Names)),
  ...RUN_FIELDS_TO_COME,
};

/** Body of POST /api/runs. `module` and `source_dir` together register a flow that the server does not know. */
export const CreateRunBody = Type.Object({ flow: NonEmpty, project: NonEmpty, ...NEW_RUN_FIELDS }, { title: "CreateRunBody" });
export type CreateRunBody = Static<typeof CreateRunBody>;

/** Body of POST /api/flows/{id}/runs. */
export const CreateRunForFlowBody = Type.Object(
  {
    name: optional(NameText),
    parameters: Type.Optional(sizedJson(PARAMETERS_BYTES_MAX, FreeMap)),
    tags: Type.Optional(Names),
    ...RUN_FIELDS_TO_COME,
  },
  { title: "CreateRunForFlowBody" },
);
export type CreateRunForFlowBody = Static<typeof CreateRunForFlowBody>;

/** Body of POST /api/runs/{id}/resume; null is a valid answer. */
export const ResumeBody = Type.Object({ input: sizedJson(ANSWER_BYTES_MAX, AnyJson) }, { title: "ResumeBody" });
export type ResumeBody = Static<typeof ResumeBody>;

/**
 * Body of POST /api/runs/{id}/transition. `lease` (from the work item) and `timestamp` let an engine repeat
 * a move whose answer was lost.
 */
export const TransitionBody = Type.Object(
  {
    type: StateTypeSchema,
    name: optional(
      about(
        `A sub-state or a text of your own, cut beyond ${STATE_NAME_LENGTH_MAX} characters; the type when left out`,
        NameText,
      ),
    ),
    message: optional(about(`Cut beyond ${MESSAGE_LENGTH_MAX} characters`, Type.String())),
    details: Type.Optional(about(`Replaced by their size beyond ${DETAILS_BYTES_MAX} bytes`, FreeMap)),
    force: Type.Optional(about("Move the run whatever its state", Type.Boolean())),
    lease: optional(about("From the work item; a lease that is over moves nothing", Int64)),
    timestamp: optional(
      about("By the clock of the engine, with a lease. The same move with the same time again changes nothing", ReportedTime),
    ),
  },
  { title: "TransitionBody" },
);
export type TransitionBody = Static<typeof TransitionBody>;

/** Answers to a paused run: the latest, and the full list if there are more. */
export const RunInput = Type.Object(
  {
    input: AnyJson,
    inputs: Type.Optional(Type.Array(AnyJson, { description: "Every answer, in order; absent if input is the only answer" })),
  },
  { title: "RunInput" },
);
export type RunInput = Static<typeof RunInput>;

/** Orders of GET /api/runs; each can be paged with the id of the last run of a page as cursor. */
export const RUN_SORTS = [
  "created_desc",
  "created_asc",
  "start_desc",
  "start_asc",
  "duration_desc",
  "duration_asc",
  "name_asc",
  "scheduled_asc",
  // Running, waiting, ended (newest end first), and at last future runs, the next first. An addition of Millrace.
  "activity",
] as const;
export type RunSort = (typeof RUN_SORTS)[number];

/** Wanted values of parameters, in the filters of runs and of the stream. */
export const ParameterValues = Type.Unsafe<Readonly<Record<string, string | number | boolean>>>({
  type: "object",
  format: "named-values",
  additionalProperties: { type: "string" },
  description: `Values of parameters, a field each: parameters.customer=7 finds runs whose parameter customer is 7 or "7". Runs with more than ${SEARCHED_PARAMETERS_BYTES_MAX} bytes of parameters are left out; a page looks through as many runs as one of search`,
});

/** Filters of runs. They combine with AND. */
const RUN_FILTERS = {
  project: Type.Optional(Type.String()),
  flow: Type.Optional(Type.String()),
  state_type: Type.Optional(about("One of the nine types", Type.String())),
  state_name: Type.Optional(about("A sub-state, or a name of a flow's own", Type.String())),
  states: Type.Optional(
    Type.Unsafe<string[]>({ type: "string", format: "comma-list", description: "State types, any of them, separated by commas" }),
  ),
  name: Type.Optional(Type.String({ description: "Part of the name, case ignored" })),
  search: Type.Optional(
    about(
      `Words, each of which is part of the run's name, project/flow, tags, state message, or parameters as JSON of up to ${SEARCHED_PARAMETERS_BYTES_MAX} bytes; case ignored. A page looks through a bounded number of runs: one with fewer runs than asked for, or none, may have a next_cursor`,
      Type.String({ maxLength: SEARCH_LENGTH_MAX }),
    ),
  ),
  tags: Type.Optional(
    Type.Unsafe<string[]>({ type: "string", format: "comma-list", description: "Tags the run must carry, separated by commas" }),
  ),
  parameters: Type.Optional(ParameterValues),
  flow_id: Type.Optional(Int64),
  start_after: Type.Optional(about("Started (or created, if never started) at or after this time", Int64)),
  start_before: Type.Optional(Int64),
  ended_after: Type.Optional(Int64),
  ended_before: Type.Optional(Int64),
  schedule_id: Type.Optional(Int64),
  backfill_id: Type.Optional(Int64),
  scheduled_after: Type.Optional(about("Only runs with a later scheduled time", Int64)),
};

/** Query of GET /api/runs. */
export const RunsQuery = Type.Object({
  ...RUN_FILTERS,
  sort: Type.Unsafe<RunSort>({ type: "string", enum: [...RUN_SORTS], default: "created_desc" }),
  limit: pageLimit(RUNS_PAGE),
  cursor: Type.Optional(about("next_cursor of the page before", Int64)),
});
export type RunsQuery = Static<typeof RunsQuery>;

/** Query of GET /api/runs/counts: the filters of GET /api/runs. */
export const RunCountsQuery = Type.Object(RUN_FILTERS);
export type RunCountsQuery = Static<typeof RunCountsQuery>;

/** Number of runs that the filters match, in total and by state name. An addition of Millrace. */
export const RunCounts = Type.Object(
  {
    total: Int64,
    states: mapOf(Int64),
    more: Type.Optional(
      about("Sent with search when only the newest runs were looked through: there may be more", Type.Boolean()),
    ),
  },
  { title: "RunCounts" },
);
export type RunCounts = Static<typeof RunCounts>;

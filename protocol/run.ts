/** Runs of flows: the record, the page, and the bodies that create, resume and move a run. */
import Type, { type Static } from "typebox";
import { FlowOptions } from "./flow.ts";
import { RUNS_PAGE } from "./limits.ts";
import { pageLimit, pageOf } from "./page.ts";
import { AnyJson, FreeMap, Id, Int32, Int64, mapOf, nullable, optional, Strings, sent, Timestamp } from "./scalar.ts";
import { StateSchema, StateTypeSchema } from "./state-schema.ts";

const NonEmpty = Type.String({ minLength: 1 });

/** Fields of a run, shared with the entries of upcoming lists. */
export const RUN_FIELDS = {
  id: Int64,
  external_id: Id,
  name: Type.String(),
  project: Type.String(),
  flow_id: Int64,
  flow_name: Type.String(),
  group: Type.Optional(Type.String()),
  state: StateSchema,
  parameters: Type.Optional(FreeMap),
  tags: Type.Optional(Strings),
  attempt: Type.Optional(Int64),
  priority: Type.Optional(Int64),
  created_by: Type.Optional(Type.String()),
  created_at: Timestamp,
  start_time: Type.Optional(nullable(Timestamp)),
  end_time: Type.Optional(nullable(Timestamp)),
  total_run_time: Type.Optional(nullable(Int64)),
  scheduled_time: Type.Optional(nullable(Timestamp)),
  schedule_id: Type.Optional(nullable(Int64)),
  backfill_id: Type.Optional(nullable(Int64)),
  parent_run_id: Type.Optional(nullable(Int64)),
  engine_id: Type.Optional(nullable(Type.String())),
  engine_pid: Type.Optional(nullable(Int64)),
  crash_count: Int32,
  failure_count: Int32,
  report_seq: Type.Optional(Int64),
  task_counts: Type.Optional(mapOf(Int64)),
};

/** A run of a flow. Times and durations are microseconds. */
export const Run = sent(Type.Object(RUN_FIELDS, { title: "Run" }));
export type Run = Static<typeof Run>;

export const RunsPage = pageOf("RunsPage", Run);
export type RunsPage = Static<typeof RunsPage>;

/** Body of POST /api/runs. `module` and `source_dir` together register a flow that the server does not know. */
export const CreateRunBody = Type.Object(
  {
    flow: NonEmpty,
    project: NonEmpty,
    created_by: optional(Type.String()),
    description: optional(Type.String()),
    flow_group: optional(Type.String()),
    flow_tags: optional(Strings),
    module: optional(NonEmpty),
    name: optional(Type.String()),
    options: optional(FlowOptions),
    parameter_schema: optional(FreeMap),
    parameters: optional(FreeMap),
    source_dir: optional(Type.String()),
    tags: optional(Strings),
  },
  { title: "CreateRunBody" },
);
export type CreateRunBody = Static<typeof CreateRunBody>;

/** Body of POST /api/flows/{id}/runs. */
export const CreateRunForFlowBody = Type.Object(
  { name: optional(Type.String()), parameters: optional(FreeMap), tags: optional(Strings) },
  { title: "CreateRunForFlowBody" },
);
export type CreateRunForFlowBody = Static<typeof CreateRunForFlowBody>;

/** Body of POST /api/runs/{id}/resume; null is an answer. */
export const ResumeBody = Type.Object({ input: AnyJson }, { title: "ResumeBody" });
export type ResumeBody = Static<typeof ResumeBody>;

/**
 * Body of POST /api/runs/{id}/transition. `lease` (from the work item) and `timestamp` let an engine repeat
 * a move whose answer was lost.
 */
export const TransitionBody = Type.Object(
  {
    type: StateTypeSchema,
    name: optional(Type.String()),
    message: optional(Type.String()),
    details: optional(FreeMap),
    force: optional(Type.Boolean()),
    lease: optional(Int64),
    timestamp: optional(Timestamp),
  },
  { title: "TransitionBody" },
);
export type TransitionBody = Static<typeof TransitionBody>;

/** Answers given to a paused run: the latest, and all in order where that says more. */
export const RunInput = Type.Object(
  {
    input: AnyJson,
    inputs: Type.Optional(
      Type.Array(AnyJson, { description: "Every answer, in the order given; absent where input says all there is" }),
    ),
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
] as const;
export type RunSort = (typeof RUN_SORTS)[number];

/** Filters of runs. They combine with AND. */
const RUN_FILTERS = {
  project: Type.Optional(Type.String()),
  flow: Type.Optional(Type.String()),
  state_type: Type.Optional(Type.String()),
  state_name: Type.Optional(Type.String()),
  states: Type.Optional(
    Type.Unsafe<string[]>({ type: "string", format: "comma-list", description: "State types, any of them, separated by commas" }),
  ),
  name: Type.Optional(Type.String({ description: "Part of the name, case ignored" })),
  tags: Type.Optional(
    Type.Unsafe<string[]>({ type: "string", format: "comma-list", description: "Tags the run must carry, separated by commas" }),
  ),
  flow_id: Type.Optional(Int64),
  start_after: Type.Optional(Int64),
  start_before: Type.Optional(Int64),
  ended_after: Type.Optional(Int64),
  schedule_id: Type.Optional(Int64),
  backfill_id: Type.Optional(Int64),
  scheduled_after: Type.Optional(Int64),
};

/** Query of GET /api/runs. */
export const RunsQuery = Type.Object({
  ...RUN_FILTERS,
  sort: Type.Unsafe<RunSort>({ type: "string", enum: [...RUN_SORTS], default: "created_desc" }),
  limit: pageLimit(RUNS_PAGE),
  cursor: Type.Optional(Int64),
});
export type RunsQuery = Static<typeof RunsQuery>;

/** Query of GET /api/runs/counts: the filters of GET /api/runs. */
export const RunCountsQuery = Type.Object(RUN_FILTERS);
export type RunCountsQuery = Static<typeof RunCountsQuery>;

/** How many runs the filters find, in all and by the name of their state. An addition of ours. */
export const RunCounts = Type.Object({ total: Int64, states: mapOf(Int64) }, { title: "RunCounts" });
export type RunCounts = Static<typeof RunCounts>;

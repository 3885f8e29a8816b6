/** Flows: their registration, options, and the summary that reads return. */
import Type, { type Static } from "typebox";
import { FLOW_BYTES_MAX, FLOW_RESULTS_MAX, NAMES_COUNT_MAX } from "../limits.ts";
import {
  Amount,
  about,
  Count,
  Double,
  FreeMap,
  Id,
  Int64,
  Names,
  NameText,
  namedMapOf,
  nullable,
  optional,
  Strings,
  sent,
  sizedJson,
  Timestamp,
} from "../values/scalar.ts";
import { ScheduleDecl, ScheduleRow } from "./schedule.ts";
import type { StateType } from "./state.ts";
import { StateTypeSchema } from "./state-schema.ts";

/** The upstream flows of a flow, optionally joined by the value of a parameter. */
export const AfterSpec = Type.Object(
  {
    flow: about("The first upstream; used alone when `flows` is empty", NameText),
    flows: optional(Names),
    key: optional(
      about("Parameter that names a batch: the flow runs once for each value that every upstream completed", NameText),
    ),
    parameters: optional(sizedJson(FLOW_BYTES_MAX, FreeMap, "Parameters of the runs that follow")),
  },
  { title: "AfterSpec" },
);
export type AfterSpec = Static<typeof AfterSpec>;

/** Options of a flow. Stored and returned as sent, unknown options included. */
export const FlowOptions = Type.Object(
  {
    after: optional(AfterSpec),
    crash_retries: optional(about("How often a run is run again whose engine crashed", Count)),
    disable_after: optional(
      Type.Array(Double, { minItems: 3, maxItems: 3, description: "[failures, window in seconds, pause in seconds]" }),
    ),
    durable: optional(
      about(
        "The results of a run's steps are stored; a run that waits leaves its engine, and continues later with these results",
        Type.Boolean(),
      ),
    ),
    exclusive: optional(
      about(
        "A run shares its engine with no other run; default: true for flows whose runs are never repeated after a crash",
        Type.Boolean(),
      ),
    ),
    has_bulk_complete: optional(about("A backfill asks the flow which values are done already", Type.Boolean())),
    has_crash_hooks: optional(Type.Boolean()),
    hooks: optional(
      Type.Array(StateTypeSchema, { maxItems: NAMES_COUNT_MAX, description: "State types that the flow's code has a hook for" }),
    ),
    isolated: optional(about("Each run has an engine process of its own", Type.Boolean())),
    log_prints: optional(about("What the code prints becomes log lines", Type.Boolean())),
    max_concurrent: optional(about("Runs at one time", Int64)),
    on_overlap: optional(about("enqueue, skip or cancel_new", NameText)),
    priority: optional(about("Higher starts first; below zero the engine's niceness is raised as well", Int64)),
    resources: optional(about("Amounts of named resources that each run holds", namedMapOf(Amount))),
    retries: optional(about("How often a failed attempt is followed by another", Count)),
    schedules: optional(Type.Array(ScheduleDecl, { maxItems: NAMES_COUNT_MAX })),
    timeout_seconds: optional(about("Time limit of a run, from Running", Amount)),
  },
  { title: "FlowOptions" },
);
export type FlowOptions = Static<typeof FlowOptions>;

const fields = {
  id: Int64,
  external_id: Id,
  project: Type.String(),
  name: Type.String(),
  module: Type.String(),
  source_dir: Type.String(),
  description: Type.Optional(nullable(Type.String())),
  group: Type.Optional(nullable(Type.String({ description: "Resolved: the project when no group was declared" }))),
  tags: Type.Optional(Strings),
  parameter_schema: Type.Optional(FreeMap),
  options: Type.Optional(FlowOptions),
  live: Type.Optional(Type.Boolean({ description: "The running server has this flow registered from code" })),
  error: Type.Optional(nullable(about("Why its module does not load", Type.String()))),
  schedule_error: Type.Optional(
    nullable(about("What is wrong with schedules that its code declares; the flow runs all the same", Type.String())),
  ),
  created_at: Timestamp,
  last_seen_at: Timestamp,
};

/** A registered flow; its identity is (project, name). */
export const Flow = sent(Type.Object(fields, { title: "Flow" }));
export type Flow = Static<typeof Flow>;

/** One of a flow's latest runs: id, state type, state name, duration in microseconds (null without a duration). */
export const RecentRun = Type.Unsafe<[number, StateType, string, number | null]>({
  type: "array",
  prefixItems: [Int64, StateTypeSchema, Type.String(), nullable(Int64)],
  minItems: 4,
  maxItems: 4,
});
export type RecentRun = Static<typeof RecentRun>;

/** A flow as reads return it, with its latest runs, its place in the flow graph and its schedules. */
export const FlowSummary = sent(
  Type.Object(
    {
      ...fields,
      recent_runs: Type.Array(RecentRun, { description: "Up to ten, newest first" }),
      results: Type.Optional(Type.Array(RecentRun, { description: "Latest ended runs, newest first, when asked for" })),
      triggers: Type.Array(Type.String(), { description: "Downstream flows" }),
      triggered_by: nullable(Type.String({ description: "First upstream" })),
      upstreams: Strings,
      batch_key: nullable(Type.String()),
      schedules: Type.Array(ScheduleRow),
    },
    { title: "FlowSummary" },
  ),
);
export type FlowSummary = Static<typeof FlowSummary>;

/** Query of GET /api/flows. */
export const FlowsQuery = Type.Object({
  project: Type.Optional(Type.String()),
  results: Type.Integer({
    minimum: 0,
    maximum: FLOW_RESULTS_MAX,
    default: 0,
    description: "Number of the latest ended runs of each flow in `results`",
  }),
});
export type FlowsQuery = Static<typeof FlowsQuery>;

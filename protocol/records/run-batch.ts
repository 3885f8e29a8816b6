/** Batches of runs: many runs created by one request, and the answer to it. */
import Type, { type Static } from "typebox";
import { RUN_BATCH_ERROR_LENGTH_MAX, RUN_BATCH_RUNS_MAX } from "../limits.ts";
import { AnyJson, about, Id, Int32, Int64, optional, sent } from "../values/scalar.ts";
import { NEW_RUN_FIELDS, NonEmpty } from "./run.ts";
import { StateSchema } from "./state-schema.ts";

const FIELDS = {
  flow: optional(about("Name of the flow; with project", NonEmpty)),
  flow_id: optional(about("In place of flow and project", Int64)),
  project: optional(NonEmpty),
  ...NEW_RUN_FIELDS,
};

/** One run of a batch: a body of POST /api/runs, or one of POST /api/flows/{id}/runs with the id in `flow_id`. */
export const RunOfBatch = Type.Object(FIELDS, { title: "RunOfBatch" });
export type RunOfBatch = Static<typeof RunOfBatch>;

const { name: _name, ...SHARED_FIELDS } = FIELDS;

/** What the runs of a batch have in common. */
export const RunDefaults = Type.Object(SHARED_FIELDS, { title: "RunDefaults" });
export type RunDefaults = Static<typeof RunDefaults>;

const HEAD_FIELDS = {
  defaults: optional(
    about(
      "What the runs have in common. Parameters are merged by name, tags are those of both. A run that names a flow of its own takes nothing about the flow from here but the project",
      RunDefaults,
    ),
  ),
  partial: Type.Optional(
    about(
      "Create the runs that can be created, and answer the refusal of each other one. Default: one refused run refuses all",
      Type.Boolean(),
    ),
  ),
};

/** Body of POST /api/runs/batch. */
export const CreateRunsBody = Type.Object(
  { runs: Type.Array(RunOfBatch, { minItems: 1, maxItems: RUN_BATCH_RUNS_MAX }), ...HEAD_FIELDS },
  { title: "CreateRunsBody" },
);
export type CreateRunsBody = Static<typeof CreateRunsBody>;

/** The same body without a check of its runs, which are checked one by one. */
export const BatchHead = Type.Object({ runs: AnyJson, ...HEAD_FIELDS }, { title: "BatchHead" });
export type BatchHead = Static<typeof BatchHead>;

/** A run that a batch created. */
export const CreatedRun = sent(
  Type.Object(
    { id: Int64, external_id: Id, name: Type.String(), state: about("State at the creation", StateSchema) },
    { title: "CreatedRun" },
  ),
);
export type CreatedRun = Static<typeof CreatedRun>;

/** A run that a partial batch did not create. */
export const RefusedRun = sent(
  Type.Object(
    {
      status: about("Status that a request for this run alone would get", Int32),
      error: about(`Cut beyond ${RUN_BATCH_ERROR_LENGTH_MAX} characters`, Type.String()),
    },
    { title: "RefusedRun" },
  ),
);
export type RefusedRun = Static<typeof RefusedRun>;

/** Answer to a batch: one entry for each run of the request, in its order. */
export const CreatedRuns = sent(
  Type.Object(
    { created: about("Number of runs that were created", Int64), runs: Type.Array(Type.Union([CreatedRun, RefusedRun])) },
    { title: "CreatedRuns" },
  ),
);
export type CreatedRuns = Static<typeof CreatedRuns>;

/** Refusal of a batch for one of its runs. */
export const RefusedBatch = Type.Object(
  { error: Type.String(), index: Type.Optional(about("Index of the refused run, from 0", Int64)) },
  { title: "RefusedBatch" },
);
export type RefusedBatch = Static<typeof RefusedBatch>;

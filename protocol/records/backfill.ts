/** Backfills: one run per value of a date or datetime parameter. */
import Type, { type Static } from "typebox";
import { BACKFILL_VALUES_MAX, BACKFILLS_PAGE, PARAMETERS_BYTES_MAX } from "../limits.ts";
import { RUN_FIELDS_TO_COME } from "../routes/fields-to-come.ts";
import { pageLimit } from "../routes/page.ts";
import {
  about,
  Double,
  ExpressionText,
  FreeMap,
  Id,
  Int64,
  mapOf,
  NameText,
  nullable,
  optional,
  sent,
  Timestamp,
} from "../values/scalar.ts";
import type { StateType } from "./state.ts";
import { StateTypeSchema } from "./state-schema.ts";

const fields = {
  id: Int64,
  external_id: Id,
  flow_id: Int64,
  parameter: Type.String(),
  start_value: Type.String(),
  end_value: Type.String(),
  interval_secs: Double,
  concurrency: Int64,
  total: Int64,
  extra_parameters: Type.Optional(FreeMap),
  cancelled: Type.Boolean(),
  created_at: Timestamp,
};

/** A stored backfill. */
export const Backfill = sent(Type.Object(fields, { title: "Backfill" }));
export type Backfill = Static<typeof Backfill>;

/** A backfill with the counts of its runs by state name, and the tag its runs carry. */
export const BackfillStatus = sent(
  Type.Object(
    { ...fields, counts: mapOf(Int64), tag: Type.String({ description: "backfill:<id>" }) },
    { title: "BackfillStatus" },
  ),
);
export type BackfillStatus = Static<typeof BackfillStatus>;

/** Query of GET /api/backfills. */
export const BackfillsQuery = Type.Object({ limit: pageLimit(BACKFILLS_PAGE) });
export type BackfillsQuery = Static<typeof BackfillsQuery>;

/** One value of a backfill: the value, its run's id, state type and state name. */
export const BackfillValue = Type.Unsafe<[string | null, number, StateType, string]>({
  type: "array",
  prefixItems: [nullable(Type.String()), Int64, StateTypeSchema, Type.String()],
  minItems: 4,
  maxItems: 4,
  title: "BackfillValue",
});
export type BackfillValue = Static<typeof BackfillValue>;

/** Body of POST /api/flows/{id}/backfill. Start and end are dates or RFC 3339 datetimes, both included. */
export const BackfillBody = Type.Object(
  {
    parameter: NameText,
    start: ExpressionText,
    end: ExpressionText,
    concurrency: optional(Int64),
    dry_run: optional(Type.Boolean({ description: "Answer with a preview, and create nothing", default: false })),
    extra_parameters: Type.Optional(about(`At most ${PARAMETERS_BYTES_MAX} bytes as JSON text`, FreeMap)),
    interval: Type.Optional(
      Type.Union([Double, ExpressionText, Type.Null()], {
        description: "Seconds, or a shorthand such as 1d, 12h, 30m; default one day",
      }),
    ),
    reverse: Type.Optional(Type.Boolean({ description: "Newest value first" })),
    ...RUN_FIELDS_TO_COME,
  },
  { title: "BackfillBody" },
);
export type BackfillBody = Static<typeof BackfillBody>;

/** A preview of a backfill's runs. */
export const BackfillPreview = Type.Object(
  {
    dry_run: Type.Boolean({ description: "Always true" }),
    flow: Type.String(),
    parameter: Type.String(),
    first: Type.String({ description: "Value of the first run" }),
    last: Type.String({ description: "Value of the last run" }),
    interval_seconds: Double,
    runs: Int64,
    note: Type.String(),
  },
  { title: "BackfillPreview" },
);
export type BackfillPreview = Static<typeof BackfillPreview>;

/** Body of POST /api/backfills/{id}/prefilter: the values that need no run. */
export const PrefilterBody = Type.Object(
  { skip: Type.Array(NameText, { maxItems: BACKFILL_VALUES_MAX }) },
  { title: "PrefilterBody" },
);
export type PrefilterBody = Static<typeof PrefilterBody>;

export const PrefilterResponse = Type.Object({ skipped: Int64 });
export type PrefilterResponse = Static<typeof PrefilterResponse>;

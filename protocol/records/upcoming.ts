/** Upcoming fires of a flow: runs that already exist, and later fires. */
import Type, { type Static } from "typebox";
import { PROJECTED_FIRES_MAX } from "../limits.ts";
import { Int64, nullable, sent, Timestamp } from "../values/scalar.ts";
import { RUN_FIELDS } from "./run.ts";

/** A run in a list of upcoming fires, with the marks of a fire that a person skipped. */
export const UpcomingRun = sent(
  Type.Object(
    {
      ...RUN_FIELDS,
      projected: Type.Boolean({ description: "Always false" }),
      skipped: Type.Boolean(),
      skipped_at: Type.Optional(nullable(Timestamp)),
      skipped_by: Type.Optional(nullable(Type.String())),
    },
    { title: "UpcomingRun" },
  ),
);
export type UpcomingRun = Static<typeof UpcomingRun>;

/** A fire after the look-ahead; no run exists for it. */
export const ProjectedFire = sent(
  Type.Object(
    {
      projected: Type.Boolean({ description: "Always true" }),
      schedule_id: Int64,
      scheduled_time: Timestamp,
      skipped: Type.Boolean(),
      skipped_at: Type.Optional(nullable(Timestamp)),
      skipped_by: Type.Optional(nullable(Type.String())),
    },
    { title: "ProjectedFire" },
  ),
);
export type ProjectedFire = Static<typeof ProjectedFire>;

/** An entry of GET /api/flows/{id}/upcoming. */
export const UpcomingItem = Type.Union([UpcomingRun, ProjectedFire], { title: "UpcomingItem" });
export type UpcomingItem = Static<typeof UpcomingItem>;

/** Query of GET /api/flows/{id}/upcoming: further fires per active schedule, computed without creating runs. */
export const UpcomingQuery = Type.Object({
  projected: Type.Integer({ minimum: 0, maximum: PROJECTED_FIRES_MAX, default: 0 }),
});
export type UpcomingQuery = Static<typeof UpcomingQuery>;

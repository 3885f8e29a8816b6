/** Data of calendars of all schedules: future fires, and the runs of past fires. Additions of Millrace. */
import Type, { type Static } from "typebox";
import { FIRES_COUNT, SCHEDULE_RUNS_EACH_MAX } from "../limits.ts";
import { about, Int64, Timestamp } from "../values/scalar.ts";
import type { StateType } from "./state.ts";
import { StateTypeSchema } from "./state-schema.ts";

/** Query of GET /api/schedules/fires. */
export const FiresQuery = Type.Object({
  before: Type.Optional(Timestamp),
  schedule_id: Type.Optional(about("Of this schedule alone; an empty list if there is none such, or it is paused", Int64)),
  limit: Type.Integer({
    minimum: 1,
    maximum: FIRES_COUNT[1],
    default: FIRES_COUNT[0],
    description: "Maximum number of fires per schedule",
  }),
});
export type FiresQuery = Static<typeof FiresQuery>;

/** Future fires of one schedule, with or without a run. */
export const ScheduleFires = Type.Object(
  {
    schedule_id: Int64,
    flow_id: Int64,
    project: Type.String(),
    flow: Type.String(),
    fires: Type.Array(Timestamp, { description: "In order, skipped ones included" }),
    more: Type.Boolean({ description: "There are further fires before the end" }),
    skipped: Type.Array(Type.Object({ fire: Timestamp, by: Type.String(), at: Timestamp })),
    more_hours: Type.Optional(
      Type.Array(Timestamp, {
        description:
          "Sent with more: the first further fire of each hour (UTC) after the hour of the last fire, before the end; at most as many as fires",
      }),
    ),
  },
  { title: "ScheduleFires" },
);
export type ScheduleFires = Static<typeof ScheduleFires>;

/** Query of GET /api/schedules/runs: the fires from `after` on and before `before`. */
export const ScheduleRunsQuery = Type.Object({
  after: Timestamp,
  before: Timestamp,
  each: Type.Integer({
    minimum: 0,
    maximum: SCHEDULE_RUNS_EACH_MAX,
    default: 0,
    description: "Hours in which a schedule has at most this many runs list each run",
  }),
});
export type ScheduleRunsQuery = Static<typeof ScheduleRunsQuery>;

/**
 * Runs of one schedule, hour and state, or one run (see `each`): schedule id, latest fire, number of runs, state type, state
 * name, id of the latest run.
 */
export const ScheduleRuns = Type.Unsafe<[number, number, number, StateType, string, number]>({
  type: "array",
  prefixItems: [Int64, Timestamp, Int64, StateTypeSchema, Type.String(), Int64],
  minItems: 6,
  maxItems: 6,
  title: "ScheduleRuns",
});
export type ScheduleRuns = Static<typeof ScheduleRuns>;

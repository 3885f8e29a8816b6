/** GET /api/stats: recently ended runs and their durations. An addition of Millrace. */
import Type, { type Static } from "typebox";
import { STATS_HOURS } from "../limits.ts";
import { Count, Int64, nullable, Timestamp } from "../values/scalar.ts";

const states = Type.Record(Type.String(), Count, { description: "Ended runs (or task runs) by state type" });
const names = Type.Record(Type.String(), Count, { description: "Ended runs by name of their state" });
const typical = {
  duration_p50: nullable(Type.Integer({ description: "Microseconds, to within a tenth; completed ones only" })),
  duration_p95: nullable(Type.Integer({ description: "Microseconds, to within a tenth; completed ones only" })),
};
const flow = { flow_id: Int64, project: Type.String(), flow: Type.String() };

/** Ended runs and task runs by flow and by task, with their durations. */
export const Stats = Type.Object(
  {
    bucket_secs: Count,
    buckets: Type.Array(Type.Object({ time: Timestamp, states }), { description: "Oldest first; runs by when they ended" }),
    quarters: Type.Array(Type.Object({ time: Timestamp, states: names }), {
      description: "Quarters of an hour in which runs ended, oldest first; runs by when they ended",
    }),
    flows: Type.Array(Type.Object({ ...flow, states, ...typical })),
    tasks: Type.Array(Type.Object({ ...flow, task: Type.String(), states, ...typical })),
  },
  { title: "Stats" },
);
export type Stats = Static<typeof Stats>;

export const StatsQuery = Type.Object({
  hours: Type.Integer({ minimum: 1, maximum: STATS_HOURS[1], default: STATS_HOURS[0], description: "Length of the period" }),
});
export type StatsQuery = Static<typeof StatsQuery>;

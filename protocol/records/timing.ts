/** Where the time of a run went, and of the newest runs of a flow. An addition of Millrace. */
import Type, { type Static } from "typebox";
import { about, Count, Int32, Int64, nullable, sent, Timestamp } from "../values/scalar.ts";

/** What a run does in each stage, in the order in which most runs pass them. */
export const RUN_STAGES = {
  creating: "the run is being stored",
  not_due: "before its scheduled time, or its schedule has not decided yet",
  held: "its backfill is being checked or cancelled",
  waiting: "waits; for what was not recorded, because the core was restarted or the run still waits",
  restart: "waits while the server, or its core, does not run for a part of the time",
  blocked: "waits for the resource in `object`",
  capped: "waits because as many runs as `[server] max_running` allows are with their engines",
  queued: "waits for an engine",
  handed_out: "given to an engine, whose answer waits for the commit",
  starting: "on its way to the engine, and waiting there for its function to be called",
  running: "its function runs",
  paused: "waits for an answer",
  parked: "has left its engine to wait",
  retry: "waits for its next attempt",
  reporting: "its function has ended, and the report is on its way",
  publishing: "its end is being stored",
  unrecorded: "more stages than are kept",
  ended: "had ended, before it was moved back",
} as const;
/** A stage of a run. */
export type RunStage = keyof typeof RUN_STAGES;

export const RunStageName = Type.Unsafe<RunStage>({
  type: "string",
  enum: Object.keys(RUN_STAGES),
  description: Object.entries(RUN_STAGES)
    .map(([name, text]) => `${name}: ${text}`)
    .join("; "),
});

/** A stretch of the time of a run. */
export const StageOfRun = Type.Object(
  {
    stage: RunStageName,
    attempt: about("As in the run: crash reruns that led to it, plus their retries", Int32),
    from: Timestamp,
    to: nullable(about("Null for the stage that the run is in", Timestamp)),
    us: about("Its length in microseconds; up to now for the stage that the run is in", Count),
    object: nullable(Type.String({ description: "What a blocked run waits for" })),
  },
  { title: "StageOfRun" },
);
export type StageOfRun = Static<typeof StageOfRun>;

/** Moments by the server's clock, except for those of user code; null for what has not happened. */
const moments = Type.Object({
  durable: nullable(about("The commit that stores the run is written", Timestamp)),
  eligible: nullable(about("Due, and nothing but an engine is missing", Timestamp)),
  matched: nullable(about("Given to an engine", Timestamp)),
  delivered: nullable(about("The commit of the hand-out is written, and the answer leaves", Timestamp)),
  accepted: nullable(about("Its function is called, by the clock of its engine", Timestamp)),
  code_ended: nullable(about("Its function has ended, by the clock of its engine", Timestamp)),
  reported: nullable(about("The end has arrived", Timestamp)),
  published: nullable(about("The commit that stores the end is written, and the stream carries the end", Timestamp)),
});
export type RunMoment = keyof Static<typeof moments>;

/** Where the time of a run went. */
export const RunTiming = sent(
  Type.Object(
    {
      run_id: Int64,
      from: about("The creation of the run", Timestamp),
      to: nullable(about("The published end; null before", Timestamp)),
      total_us: about("The sum of the stages", Count),
      moments: about("Of the newest hand-out; `durable` of the run", moments),
      stages: Type.Array(StageOfRun, {
        description: "Without gaps from the creation on; empty for a run that was created before servers recorded them",
      }),
    },
    { title: "RunTiming" },
  ),
);
export type RunTiming = Static<typeof RunTiming>;

/** A stage in the newest runs of a flow. */
export const StageOfFlow = Type.Object(
  {
    stage: RunStageName,
    runs: about("Runs that passed this stage", Count),
    p50_us: about("Of all these runs; 0 for a run that did not pass the stage", Count),
    p95_us: Count,
    sum_us: Count,
  },
  { title: "StageOfFlow" },
);
export type StageOfFlow = Static<typeof StageOfFlow>;

/** Where the time of the newest runs of a flow went. */
export const FlowTiming = sent(
  Type.Object(
    {
      flow_id: Int64,
      runs: about("Runs that were compared: the newest of those that were handed out and ended, at most 100", Count),
      total_p50_us: about("From the creation to the published end", Count),
      total_p95_us: Count,
      stages: Type.Array(StageOfFlow, { description: "In the order in which most runs pass them" }),
    },
    { title: "FlowTiming" },
  ),
);
export type FlowTiming = Static<typeof FlowTiming>;

/** The queue as a whole, and the explanation of one run's wait. An addition of Millrace. */
import Type, { type Static } from "typebox";
import { about, Count, Double, Id, Int64, nullable, sent, Timestamp } from "../values/scalar.ts";
import { StateSchema } from "./state-schema.ts";
import { RunStageName } from "./timing.ts";

/** Why a Scheduled run has not been handed out. */
export const WAIT_CODES = [
  "no_engine",
  "no_engine_slot",
  "max_running",
  "no_engine_for_module",
  "engine_start_failed",
  "resource",
  "not_due",
  "held",
  "assigned",
  "waits",
] as const;
export type WaitCode = (typeof WAIT_CODES)[number];

const reason = {
  code: Type.Unsafe<WaitCode>({ type: "string", enum: [...WAIT_CODES] }),
  object: nullable(
    Type.String({ description: "What blocks the run: the resource, the module that has no engine, the engine that holds it" }),
  ),
  /** One sentence for people. */
  text: Type.String(),
  since: Timestamp,
};

/** The holder of a resource. */
export const ResourceHolder = Type.Object(
  {
    run_id: Int64,
    run_name: Type.String(),
    amount: Double,
    kind: Type.Unsafe<"run" | "explicit">({ type: "string", enum: ["run", "explicit"] }),
    held_secs: Double,
  },
  { title: "ResourceHolder" },
);
export type ResourceHolder = Static<typeof ResourceHolder>;

/** A run waiting to be handed out, with its place in the queue (1 is next) among the runs it competes with. */
export const QueuedRun = Type.Object(
  {
    run_id: Int64,
    external_id: Id,
    name: Type.String(),
    flow: Type.String(),
    project: Type.String(),
    priority: Int64,
    state: StateSchema,
    scheduled_time: nullable(Timestamp),
    reason: Type.Object(reason),
    place: nullable(Count),
  },
  { title: "QueuedRun" },
);
export type QueuedRun = Static<typeof QueuedRun>;

export const QueueResource = Type.Object(
  {
    name: Type.String(),
    total: Double,
    used: Double,
    waiting: about("Runs that wait for the resource before their start, and leases that code waits for", Count),
    holders: Type.Array(ResourceHolder),
  },
  { title: "QueueResource" },
);
export type QueueResource = Static<typeof QueueResource>;

/** Runs that wait for the same reason, counted over the whole queue. */
export const QueueReason = Type.Object(
  {
    code: reason.code,
    object: reason.object,
    text: reason.text,
    retries: about("The runs wait for their next attempt", Type.Boolean()),
    count: Count,
    since: about("When the first of these runs began to wait", Timestamp),
    due: nullable(about("The earliest time at which one of these runs is due", Timestamp)),
  },
  { title: "QueueReason" },
);
export type QueueReason = Static<typeof QueueReason>;

export const QueueEngine = Type.Object(
  {
    id: Type.String(),
    module: Type.String(),
    source_dir: Type.String(),
    run_ids: Type.Array(Int64),
    idle: Type.Boolean(),
    contact_secs: Type.Number({ description: "Seconds since the last request of the engine" }),
    blocked_since: nullable(
      about("Since when code of one run has held the engine's thread; null while the thread works", Timestamp),
    ),
  },
  { title: "QueueEngine" },
);
export type QueueEngine = Static<typeof QueueEngine>;

/** Runs in the order in which they would start; at most 500; `waiting` is their total number. */
export const Queue = Type.Object(
  {
    waiting: Count,
    reasons: Type.Array(QueueReason, { description: "What the runs wait for, most runs first" }),
    runs: Type.Array(QueuedRun),
    resources: Type.Array(QueueResource),
    engines: Type.Array(QueueEngine),
  },
  { title: "Queue" },
);
export type Queue = Static<typeof Queue>;

/** A wait of a run that is over. */
export const PastWait = Type.Object(
  {
    stage: RunStageName,
    from: Timestamp,
    to: about("Equal to `from` for a run that its overlap policy ended", Timestamp),
    text: about("One sentence for people", Type.String()),
    object: nullable(Type.String({ description: "What a blocked run waited for" })),
    holders: Type.Array(Type.Object({ run_id: Int64, run_name: Type.String() }), {
      description: "Runs that held it when the wait began, at most 3",
    }),
  },
  { title: "PastWait" },
);
export type PastWait = Static<typeof PastWait>;

/** A moment to explain. */
export const WaitedQuery = Type.Object({
  at: Type.Optional(about("Only what the run waited for at this moment: microseconds since the Unix epoch", Timestamp)),
});
export type WaitedQuery = Static<typeof WaitedQuery>;

/** Why a run is in its state. `reason` is null once it has started or ended, unless its code waits for a lease. */
export const RunExplanation = sent(
  Type.Object(
    {
      run_id: Int64,
      state: StateSchema,
      reason: nullable(Type.Object(reason)),
      place: nullable(Count),
      holders: Type.Array(ResourceHolder, { description: "The runs that hold the resource that this run waits for" }),
      blocked: nullable(
        about(
          "Set while code of this run, or of another run in its engine, holds the engine",
          Type.Object({
            engine_id: Type.String(),
            since: Timestamp,
            text: Type.String(),
            run_ids: Type.Array(Int64, { description: "The runs in the engine, of which one holds it" }),
          }),
        ),
      ),
    },
    { title: "RunExplanation" },
  ),
);
export type RunExplanation = Static<typeof RunExplanation>;

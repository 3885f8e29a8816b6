/**
 * Durable runs: the steps of a run that its engine stores, the waits of a run while no engine holds it, and what an engine gets
 * of both when the run continues. An addition of Millrace; engines that do not use it are not affected.
 *
 * Steps and waits belong to a lineage: a run and its crash reruns, all of which have the id of the first run as `lineage_id`.
 * Within a lineage each step and each wait has an identity, which the engine computes: the same call of the flow has the same
 * identity whenever the flow begins again.
 */
import Type, { type Static } from "typebox";
import {
  CALLBACK_BYTES_MAX,
  CHILD_DEPTH_MAX,
  DETAILS_BYTES_MAX,
  FLOW_BYTES_MAX,
  MESSAGE_LENGTH_MAX,
  PARAMETERS_BYTES_MAX,
  PROGRESS_BYTES_MAX,
  STEP_BYTES_MAX,
  STEP_INLINE_BYTES_MAX,
  STEP_LISTED_BYTES_MAX,
  STEPS_PAGE,
  TRACEPARENT_LENGTH,
  WAIT_FILTER_BYTES_MAX,
  WAITS_MAX,
} from "../limits.ts";
import { pageOf } from "../routes/page.ts";
import {
  AnyJson,
  about,
  Count,
  FreeMap,
  Id,
  Int64,
  Names,
  NameText,
  nullable,
  optional,
  PathText,
  ReportedTime,
  sent,
  sizedJson,
  Timestamp,
} from "../values/scalar.ts";
import { FlowOptions } from "./flow.ts";

const HEX_128 = { pattern: "^[0-9a-f]{32}$", minLength: 32, maxLength: 32 };

/** 128 bits in lower-case hexadecimal. */
export const Identity = Type.String({
  ...HEX_128,
  description: "Of a step or wait within its lineage: callers, name, key or arguments, and the number among equal calls",
});
/**
 * The identity without key, arguments and number: two steps of one place with different identities are calls with different
 * arguments.
 */
const Place = Type.String({ ...HEX_128, description: "Callers and name: what remains of the identity when arguments change" });

/** A result beyond STEP_INLINE_BYTES_MAX: a file of the home, by its content. */
const StepFile = Type.Object({
  sha256: Type.String({ pattern: "^[0-9a-f]{64}$", minLength: 64, maxLength: 64 }),
  bytes: Type.Integer({ format: "int64", minimum: 0, maximum: STEP_BYTES_MAX }),
});

/**
 * Event of a report: a task of a durable run completed with this result. Stored with the report under its lease; ignored under a
 * lease that is over. The first result of an identity stays.
 */
export const StepReport = Type.Object({
  kind: Type.Literal("step"),
  seq: Int64,
  identity: Identity,
  place: Place,
  name: NameText,
  task_run_external_id: optional(Id),
  value: optional(
    Type.String({
      maxLength: STEP_INLINE_BYTES_MAX,
      description: `The result as the engine writes it, at most ${STEP_INLINE_BYTES_MAX} bytes; either this or \`file\``,
    }),
  ),
  file: optional(StepFile),
});
export type StepReport = Static<typeof StepReport>;

/** What a run continues with after a park; the engine writes and reads it. */
export const ParkProgress = Type.Object({
  attempt: Count,
  times: Type.Array(Type.Array(nullable(Int64), { maxItems: PROGRESS_BYTES_MAX }), { maxItems: PROGRESS_BYTES_MAX }),
  ran_us: Int64,
  trace: optional(
    Type.Object(
      { traceparent: Type.String({ maxLength: TRACEPARENT_LENGTH }), at: Int64 },
      { description: "The trace of the part of the run that ends here, and when it ended: that of the next part links to it" },
    ),
  ),
});
export type ParkProgress = Static<typeof ParkProgress>;

/**
 * Event of a report: the run leaves its engine until the first of these waits settles, or until `wake_at`. Its state becomes
 * Scheduled with the name Sleeping, AwaitingEvent, AwaitingChild or AwaitingRetry, or Paused, depending on the waits. If one of
 * the waits has settled, the run is queued at once. Like a move, a park under a lease that is over changes nothing.
 */
export const ParkReport = Type.Object({
  kind: Type.Literal("park"),
  seq: Int64,
  timestamp: ReportedTime,
  waits: about("The open waits of this attempt", Type.Array(Identity, { maxItems: WAITS_MAX })),
  hold: Type.Optional(Type.Boolean({ description: "The run keeps its resources" })),
  progress: optional(
    about(
      `What the next attempt begins with, at most ${PROGRESS_BYTES_MAX} bytes: sent back with the run as it is`,
      ParkProgress,
    ),
  ),
  retry: optional(
    Type.Object(
      {
        delay: Type.Number({ minimum: 0, maximum: 1e11 }),
        attempt: Count,
        message: Type.Optional(about(`Cut beyond ${MESSAGE_LENGTH_MAX} characters`, Type.String())),
        details: Type.Optional(about(`Replaced by their size beyond ${DETAILS_BYTES_MAX} bytes`, FreeMap)),
      },
      { description: "The delay before the next attempt, in seconds, the number of the failed one, and how it failed" },
    ),
  ),
});
export type ParkReport = Static<typeof ParkReport>;

/** The kinds of waits. */
export const WAIT_KINDS = ["sleep", "event", "callback", "input", "child"] as const;
export type WaitKind = (typeof WAIT_KINDS)[number];

const WAIT_FIELDS = { identity: Identity, place: Place, name: about("For people: what is waited for", NameText) };
const Due = Type.Integer({ ...Timestamp, description: "Microseconds since the Unix epoch, UTC, by the clock of the server" });
const delay = Type.Optional(
  Type.Number({ minimum: 0, maximum: 1e11, description: "Seconds from the receipt of the request; either this or a time" }),
);

export const SleepWait = Type.Object({ ...WAIT_FIELDS, kind: Type.Literal("sleep"), delay, until: optional(Due) });
export const EventWait = Type.Object({
  ...WAIT_FIELDS,
  kind: Type.Literal("event"),
  event: about("Name of the event", NameText),
  where: optional(
    sizedJson(WAIT_FILTER_BYTES_MAX, FreeMap, "Values by dotted path of the event, all of which must be equal: `payload.order`"),
  ),
  timeout: Type.Optional(Type.Number({ minimum: 0, maximum: 1e11, description: "Seconds; none without it" })),
});
export const CallbackWait = Type.Object({
  ...WAIT_FIELDS,
  kind: Type.Literal("callback"),
  timeout: Type.Optional(Type.Number({ minimum: 0, maximum: 1e11 })),
});
export const InputWait = Type.Object({
  ...WAIT_FIELDS,
  kind: Type.Literal("input"),
  question: sizedJson(DETAILS_BYTES_MAX, FreeMap, "As in the details of a Paused state: prompt, schema, asked_at, task_run"),
  timeout: Type.Optional(Type.Number({ minimum: 0, maximum: 1e11 })),
});
/** A run of a flow that the waiting run calls. */
export const ChildWait = Type.Object({
  ...WAIT_FIELDS,
  kind: Type.Literal("child"),
  flow: about("Of the same project, or project/flow", NameText),
  parameters: Type.Optional(sizedJson(PARAMETERS_BYTES_MAX, FreeMap)),
  tags: Type.Optional(Names),
  priority: optional(Int64),
  delay: Type.Optional(Type.Number({ minimum: 0, maximum: 1e11, description: "Seconds until the child is due" })),
  registration: optional(
    about(
      "Registers the flow, as in CreateRunBody; for a flow of code that this server serves it changes nothing",
      Type.Object({
        module: PathText,
        source_dir: PathText,
        parameter_schema: optional(sizedJson(FLOW_BYTES_MAX, FreeMap)),
        options: optional(FlowOptions),
      }),
    ),
  ),
  on_parent_end: Type.Optional(
    Type.Unsafe<"cancel" | "leave">({
      type: "string",
      enum: ["cancel", "leave"],
      default: "cancel",
      description: "When the lineage of its caller ends",
    }),
  ),
});
export type SleepWait = Static<typeof SleepWait>;
export type EventWait = Static<typeof EventWait>;
export type CallbackWait = Static<typeof CallbackWait>;
export type InputWait = Static<typeof InputWait>;
export type ChildWait = Static<typeof ChildWait>;
export const NewWait = Type.Union([SleepWait, EventWait, CallbackWait, InputWait, ChildWait]);
export type NewWait = Static<typeof NewWait>;

/**
 * Body of POST /api/runs/{id}/waits: arms waits for a run that an engine holds, all or none. A wait whose identity is armed
 * already stays unchanged. A child is created with its wait, at most once for an identity.
 */
export const ArmWaitsBody = Type.Object(
  { lease: Int64, waits: Type.Array(NewWait, { minItems: 1, maxItems: WAITS_MAX }) },
  { title: "ArmWaitsBody", description: `Children are at most ${CHILD_DEPTH_MAX} deep` },
);
export type ArmWaitsBody = Static<typeof ArmWaitsBody>;

/** Body of POST /api/callbacks/{token}. */
export const CallbackBody = Type.Unsafe<unknown>({
  title: "CallbackBody",
  description: `Any JSON of at most ${CALLBACK_BYTES_MAX} bytes`,
});

/** The answer to CallbackBody. */
export const CallbackTaken = Type.Object({ ok: Type.Boolean() }, { title: "CallbackTaken" });

/** How a wait was settled; the first outcome stays. */
export const WaitOutcome = Type.Union([
  Type.Object({ kind: Type.Literal("slept") }),
  Type.Object({ kind: Type.Literal("event"), event: about("id, name, occurred, payload, run_id", FreeMap) }),
  Type.Object({ kind: Type.Literal("answered"), value: AnyJson }),
  Type.Object({
    kind: Type.Literal("child"),
    run_id: Int64,
    state: about(
      "How its lineage ended",
      Type.Object({ type: Type.String(), name: Type.String(), message: nullable(Type.String()) }),
    ),
    result: Type.Optional(about("Its return value, as in details.result of its state", AnyJson)),
    result_bytes: Type.Optional(about("Instead of a result that was too large to store", Int64)),
    result_lost: Type.Optional(about("Instead of a result that is no JSON: why", Type.String())),
  }),
  Type.Object({ kind: Type.Literal("gone"), run_id: Int64, reason: about("The child was deleted", Type.String()) }),
  Type.Object({ kind: Type.Literal("timed_out") }),
]);
export type WaitOutcome = Static<typeof WaitOutcome>;

/** A wait of a lineage. */
export const Wait = sent(
  Type.Object(
    {
      id: Int64,
      identity: Identity,
      place: Place,
      kind: Type.Unsafe<WaitKind>({ type: "string", enum: [...WAIT_KINDS] }),
      name: Type.String(),
      created_at: Timestamp,
      due: Type.Optional(nullable(about("When it ends by itself: the end of a sleep, or the timeout", Timestamp))),
      event: Type.Optional(nullable(about("Name of the awaited event", Type.String()))),
      where: Type.Optional(nullable(FreeMap)),
      child_run_id: Type.Optional(nullable(about("The newest run of the child's lineage", Int64))),
      url: Type.Optional(nullable(about("Path of a callback, only in the answer to the engine that arms it", Type.String()))),
      settled_at: Type.Optional(nullable(Timestamp)),
      outcome: Type.Optional(nullable(WaitOutcome)),
    },
    { title: "Wait" },
  ),
);
export type Wait = Static<typeof Wait>;

/** The answer to ArmWaitsBody, in its order. */
export const ArmedWaits = sent(Type.Object({ waits: Type.Array(Wait) }, { title: "ArmedWaits" }));
export type ArmedWaits = Static<typeof ArmedWaits>;

/** Steps or waits of the run's lineage and of what it was forked from, oldest first. */
export const StepsQuery = Type.Object({
  after: Type.Optional(about("`next_cursor` of the page before", Int64)),
  limit: Type.Integer({ minimum: 1, maximum: STEPS_PAGE[1], default: STEPS_PAGE[0] }),
});
export type StepsQuery = Static<typeof StepsQuery>;

/** A stored step. */
export const Step = sent(
  Type.Object(
    {
      id: Int64,
      identity: Identity,
      place: Place,
      name: Type.String(),
      run_id: Int64,
      task_run_external_id: Type.Optional(nullable(Id)),
      created_at: Timestamp,
      bytes: about("Of the result", Int64),
      value: Type.Optional(
        nullable(about(`The result as the engine wrote it; in lists only up to ${STEP_LISTED_BYTES_MAX} bytes`, Type.String())),
      ),
      file: Type.Optional(nullable(StepFile)),
    },
    { title: "Step" },
  ),
);
export type Step = Static<typeof Step>;

export const StepsPage = pageOf("StepsPage", Step);
export const WaitsPage = pageOf("WaitsPage", Wait);

/** In the work item of a run of a durable flow. */
export const DurableWork = sent(
  Type.Object({
    lineage_id: Int64,
    steps: about("0: there are no stored steps that the run can see", Int64),
    waits: about("0: there are no waits that the run can see", Int64),
    park_after_secs: about("Shorter waits stay in the engine", Type.Number()),
  }),
);
export type DurableWork = Static<typeof DurableWork>;

/** Body of POST /api/runs/{id}/retry; none at all is the same as an empty one. */
export const RetryBody = Type.Object(
  {
    from: optional(
      about(
        "`start`, `failure`, or the dynamic key of a task run of the run. Without it: `failure` for a durable run that did not complete, else `start`",
        NameText,
      ),
    ),
  },
  { title: "RetryBody" },
);
export type RetryBody = Static<typeof RetryBody>;

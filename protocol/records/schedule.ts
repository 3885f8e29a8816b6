/** Schedules of a flow: the three variants, stored rows, upcoming fires, skips, and the bodies that create and change them. */
import Type, { type Static } from "typebox";
import {
  CATCHUP_COUNT_DEFAULT,
  INTEGER_MAX,
  NAME_LENGTH_MAX,
  NAMES_COUNT_MAX,
  PREVIEW_COUNT,
  SCHEDULE_INTERVAL_SECONDS_MIN,
  SCHEDULE_PARAMETERS_BYTES_MAX,
} from "../limits.ts";
import {
  about,
  Count,
  ExpressionText,
  FreeMap,
  Id,
  Int64,
  NameText,
  nullable,
  optional,
  sent,
  sizedJson,
  Timestamp,
} from "../values/scalar.ts";

/** What happens to fires missed while the server was down. */
export const CATCHUP_POLICIES = ["skip", "latest", "all"] as const;
export const CatchupPolicy = Type.Unsafe<(typeof CATCHUP_POLICIES)[number]>({
  type: "string",
  enum: [...CATCHUP_POLICIES],
  title: "CatchupPolicy",
});
export type CatchupPolicy = Static<typeof CatchupPolicy>;

const SecondsBetween = Type.Number({
  format: "double",
  maximum: INTEGER_MAX,
  description: `Seconds between fires, at least ${SCHEDULE_INTERVAL_SECONDS_MIN}`,
});

function counted(standard: number) {
  return Type.Integer({ minimum: 0, maximum: INTEGER_MAX, default: standard });
}

const timezone = optional(about("IANA name; the server's zone when unset", NameText));
const cronFields = {
  kind: Type.Literal("cron"),
  cron: about("Five fields", ExpressionText),
  timezone,
  day_or: Type.Optional(Type.Boolean({ description: "Day of month or day of week, instead of both", default: true })),
};
const intervalFields = {
  kind: Type.Literal("interval"),
  interval: SecondsBetween,
  anchor: optional(about("From when the interval counts; now when left out", Timestamp)),
  timezone,
};
const rruleFields = { kind: Type.Literal("rrule"), rrule: about("RFC 5545, with DTSTART", ExpressionText), timezone };

export const SCHEDULE_KINDS = ["cron", "interval", "rrule"] as const;
/** When a schedule fires: a five-field cron expression, an interval in seconds, or an RFC 5545 rule. */
export const Schedule = Type.Union([Type.Object(cronFields), Type.Object(intervalFields), Type.Object(rruleFields)], {
  title: "Schedule",
});
export type Schedule = Static<typeof Schedule>;

const parameters = optional(
  sizedJson(
    SCHEDULE_PARAMETERS_BYTES_MAX,
    FreeMap,
    "Of the runs, besides the defaults of the flow. Texts are templates, rendered for each fire in the zone of the schedule",
  ),
);
const declared = {
  catchup: optional(CatchupPolicy),
  catchup_max: optional(Count),
  parameters,
  key: optional(about("Names it over changes of the code", NameText)),
};

/** A schedule declared on a flow in code. */
export const ScheduleDecl = Type.Union(
  [
    Type.Object({ ...cronFields, ...declared }),
    Type.Object({ ...intervalFields, ...declared }),
    Type.Object({ ...rruleFields, ...declared }),
  ],
  { title: "ScheduleDecl" },
);
export type ScheduleDecl = Static<typeof ScheduleDecl>;

const policy = {
  active: optional(Type.Boolean({ default: true })),
  catchup: optional(CatchupPolicy),
  catchup_max: optional(counted(CATCHUP_COUNT_DEFAULT)),
  parameters,
  persist: optional(Type.Boolean({ description: "Survives a start without a declaration in code", default: true })),
};

/** Body of POST /api/flows/{id}/schedules, and of PUT with a key: a schedule and its policy, flat. */
export const ScheduleBody = Type.Union(
  [
    Type.Object({ ...cronFields, ...policy }),
    Type.Object({ ...intervalFields, ...policy }),
    Type.Object({ ...rruleFields, ...policy }),
  ],
  { title: "ScheduleBody" },
);
export type ScheduleBody = Static<typeof ScheduleBody>;

const count = optional(counted(PREVIEW_COUNT[0]));

/** Body of POST /api/schedules/preview: a schedule and how many fires to show. */
export const PreviewBody = Type.Union(
  [Type.Object({ ...cronFields, count }), Type.Object({ ...intervalFields, count }), Type.Object({ ...rruleFields, count })],
  { title: "PreviewBody" },
);
export type PreviewBody = Static<typeof PreviewBody>;

/** Body of PATCH /api/schedules/{sid}; absent and null keep a value. */
export const SchedulePatchBody = Type.Object(
  {
    anchor: optional(Timestamp),
    catchup: optional(CatchupPolicy),
    catchup_max: optional(Count),
    cron: optional(ExpressionText),
    day_or: optional(Type.Boolean()),
    interval: optional(SecondsBetween),
    persist: optional(about("true detaches the schedule from its declaration in code for good", Type.Boolean())),
    rrule: optional(ExpressionText),
    timezone: optional(NameText),
    parameters,
  },
  { title: "SchedulePatchBody" },
);
export type SchedulePatchBody = Static<typeof SchedulePatchBody>;

/** A stored schedule with its policy and bookkeeping. */
export const ScheduleRow = sent(
  Type.Object(
    {
      id: Int64,
      external_id: Id,
      flow_id: Int64,
      schedule: Schedule,
      catchup: CatchupPolicy,
      catchup_max: about("Most missed fires that are run, with all", Int64),
      active: Type.Boolean(),
      paused_reason: Type.Optional(nullable(about("paused, disabled, or rule:<name>", Type.String()))),
      paused_until: Type.Optional(nullable(about("End of a disable window", Timestamp))),
      source: Type.String({ description: "code, ui or mcp" }),
      code_key: Type.Optional(
        nullable(about("Key in the code (without one, the place in the list), or the key of the PUT", Type.String())),
      ),
      persist: Type.Boolean(),
      created_at: Timestamp,
      updated_at: Timestamp,
      next_fire: Type.Optional(nullable(about("The next fire that will run, skipped ones left out", Timestamp))),
      skipped: Type.Optional(about("Fires to come that a person skipped", Int64)),
      parameters: Type.Optional(about("Of its runs, as they were sent; absent without any", FreeMap)),
    },
    { title: "ScheduleRow" },
  ),
);
export type ScheduleRow = Static<typeof ScheduleRow>;

/** How many schedules of a flow were paused or resumed. */
export const PausedSchedules = Type.Object({ paused: Int64 });
export type PausedSchedules = Static<typeof PausedSchedules>;
/** How many schedules were resumed. */
export const ResumedSchedules = Type.Object({ resumed: Int64 });
export type ResumedSchedules = Static<typeof ResumedSchedules>;

/** Body of POST /api/schedules/{sid}/skips: fire times, or the next n fires. */
export const SkipBody = Type.Object(
  {
    by: optional(Type.String({ maxLength: NAME_LENGTH_MAX, description: "ui or api", default: "api" })),
    fires: Type.Optional(Type.Array(Timestamp, { maxItems: NAMES_COUNT_MAX })),
    next: optional(Int64),
  },
  { title: "SkipBody" },
);
export type SkipBody = Static<typeof SkipBody>;

/** Fires of a downstream flow that a skip includes. */
export const DownstreamSkip = Type.Object(
  { flow: Type.String(), project: Type.String(), fires: Type.Array(Timestamp) },
  { title: "DownstreamSkip" },
);
export type DownstreamSkip = Static<typeof DownstreamSkip>;

/** The effect of a skip request. */
export const SkipResponse = Type.Object(
  { schedule: ScheduleRow, skipped: Type.Array(Timestamp), downstream: Type.Array(DownstreamSkip) },
  { title: "SkipResponse" },
);
export type SkipResponse = Static<typeof SkipResponse>;

/** The next fires of a schedule, and the zone they were computed in. */
export const PreviewResponse = Type.Object(
  { next: Type.Array(Timestamp), timezone: Type.String() },
  { title: "PreviewResponse" },
);
export type PreviewResponse = Static<typeof PreviewResponse>;

/** Tools for schedules and backfills. */
import Type from "typebox";
import {
  CATCHUP_COUNT_DEFAULT,
  EXPRESSION_LENGTH_MAX,
  PARAMETERS_BYTES_MAX,
  SCHEDULE_INTERVAL_SECONDS_MIN,
  SCHEDULE_PARAMETERS_BYTES_MAX,
} from "../limits.ts";
import { BackfillStatus } from "../records/backfill.ts";
import { CATCHUP_POLICIES, CatchupPolicy, SCHEDULE_KINDS, Schedule, ScheduleRow } from "../records/schedule.ts";
import { FreeMap, nullable, sizedJson } from "../values/scalar.ts";
import {
  ADDS,
  CHANGES,
  ENDS,
  FLOW,
  FLOW_FILTER,
  input,
  type McpTool,
  oneOf,
  output,
  PROJECT,
  READS,
  text,
  whole,
} from "./mcp-tool.ts";

const CATCHUP = oneOf(CATCHUP_POLICIES, "What happens to fires missed while the server was down");
const SCHEDULE_ID = whole("Id of the schedule");

/** When a schedule fires; its kind determines which of these fields it has. */
const WHEN = {
  cron: Type.Optional(text("Five fields, for kind cron")),
  interval: Type.Optional(
    Type.Number({ description: `Seconds between fires, at least ${SCHEDULE_INTERVAL_SECONDS_MIN}, for kind interval` }),
  ),
  rrule: Type.Optional(text("RFC 5545 rule with DTSTART, for kind rrule")),
  timezone: Type.Optional(text("IANA name; UTC when unset")),
  anchor: Type.Optional(whole("From when an interval counts: microseconds since the Unix epoch, UTC; now when unset")),
};

const PARAMETERS = sizedJson(
  SCHEDULE_PARAMETERS_BYTES_MAX,
  FreeMap,
  'Parameters of the runs. Texts are templates of the fire: "{{ fire.date }}" is its date in the zone of the schedule',
);

/** A schedule as list_schedules describes it. */
const ListedSchedule = Type.Object({
  id: Type.Integer(),
  flow: Type.String(),
  project: Type.String(),
  schedule: Schedule,
  active: Type.Boolean(),
  next_fire: nullable(whole("Microseconds since the Unix epoch")),
  paused_reason: nullable(Type.String()),
  paused_until: nullable(Type.Integer()),
  catchup: CatchupPolicy,
  catchup_max: Type.Integer(),
  source: text("code, ui or mcp"),
  parameters: Type.Optional(FreeMap),
});

const SHOWN_SCHEDULE = output({
  schedule: ScheduleRow,
  next_fires: Type.Array(whole("Microseconds since the Unix epoch"), { description: "The next three, were it active" }),
  note: Type.Optional(text("What limits the change")),
});

export const SCHEDULE_TOOLS = {
  list_schedules: {
    title: "List schedules",
    description: "Schedules with their flow, the next fire, and why they are paused.",
    input: input({ flow: FLOW_FILTER, project: PROJECT }),
    output: output({ schedules: Type.Array(ListedSchedule) }),
    annotations: READS,
  },
  create_schedule: {
    title: "Add a schedule",
    description:
      "Adds a schedule to a flow: a cron expression, an interval or an RFC 5545 rule. Answers with its next three fires.",
    input: input({
      flow: FLOW,
      project: Type.Optional(text("Project of the flow")),
      kind: oneOf(SCHEDULE_KINDS, "What the schedule is: each kind has an argument of its name"),
      ...WHEN,
      day_or: Type.Optional(Type.Boolean({ description: "Cron: day of month or day of week, instead of both", default: true })),
      catchup: Type.Optional({ ...CATCHUP, default: "skip" }),
      catchup_max: Type.Optional(
        Type.Integer({ description: "Maximum number of missed fires to run, with all", default: CATCHUP_COUNT_DEFAULT }),
      ),
      parameters: Type.Optional(PARAMETERS),
      key: Type.Optional(text("With a key, a schedule of the flow that has it is replaced; the same call again changes nothing")),
    }),
    output: SHOWN_SCHEDULE,
    annotations: ADDS,
  },
  edit_schedule: {
    title: "Change a schedule",
    description:
      "Changes when a schedule fires, or what happens to missed fires; what is not sent stays. A cron, interval or rrule of " +
      "another kind makes it that kind. An edit of a schedule that is declared in code lasts until the server starts again.",
    input: input({
      schedule_id: SCHEDULE_ID,
      ...WHEN,
      day_or: Type.Optional(Type.Boolean({ description: "Cron: day of month or day of week, instead of both" })),
      catchup: Type.Optional(CATCHUP),
      catchup_max: Type.Optional(whole("How many of them at most, with all")),
      parameters: Type.Optional(PARAMETERS),
    }),
    output: SHOWN_SCHEDULE,
    annotations: CHANGES,
  },
  delete_schedule: {
    title: "Delete a schedule",
    description: "Deletes a schedule and its runs that have not started. One that is declared in code can only be paused.",
    input: input({ schedule_id: SCHEDULE_ID }),
    output: output({ deleted: Type.Boolean(), schedule_id: Type.Integer() }),
    annotations: ENDS,
  },
  pause_schedule: {
    title: "Pause a schedule",
    description: "Stops a schedule from firing until resume_schedule, also over restarts.",
    input: input({ schedule_id: SCHEDULE_ID }),
    output: output({ schedule: ScheduleRow }),
    annotations: CHANGES,
  },
  resume_schedule: {
    title: "Resume a schedule",
    description: "Lets a paused schedule fire again.",
    input: input({ schedule_id: SCHEDULE_ID }),
    output: output({ schedule: ScheduleRow }),
    annotations: CHANGES,
  },
  backfill: {
    title: "Backfill a flow",
    description:
      "One run of a flow for each value of a date or datetime parameter, from start to end, both included. " +
      "A dry run unless dry_run is false: it says how many runs there would be and creates none.",
    input: input({
      flow: FLOW,
      parameter: text("The date or datetime parameter"),
      start: text("First value, such as 2026-01-01"),
      end: text("Last value"),
      interval: Type.Optional(
        Type.Unsafe<string | number>({
          type: ["string", "number"],
          maxLength: EXPRESSION_LENGTH_MAX,
          description: "Between two values: seconds, or a duration such as 1d or 12h",
          default: "1d",
        }),
      ),
      concurrency: Type.Optional(Type.Integer({ description: "How many of its runs execute at once", default: 1 })),
      dry_run: Type.Optional(Type.Boolean({ description: "Create nothing", default: true })),
      reverse: Type.Optional(Type.Boolean({ description: "Newest value first", default: false })),
      extra_parameters: Type.Optional(sizedJson(PARAMETERS_BYTES_MAX, FreeMap)),
    }),
    output: output({
      dry_run: Type.Boolean(),
      backfill: Type.Optional(BackfillStatus),
      flow: Type.Optional(Type.String()),
      parameter: Type.Optional(Type.String()),
      runs: Type.Optional(whole("How many runs there would be")),
      first: Type.Optional(text("Value of the first run")),
      last: Type.Optional(text("Value of the last run")),
      interval_seconds: Type.Optional(Type.Number()),
      note: Type.Optional(text("What to do next")),
    }),
    annotations: ADDS,
  },
} as const satisfies Record<string, McpTool>;

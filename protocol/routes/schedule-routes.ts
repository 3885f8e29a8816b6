/** The rows of schedules and backfills in the table of the HTTP interface (routes.ts). */
import Type from "typebox";
import { ErrorBody } from "../errors.ts";
import {
  BackfillBody,
  BackfillPreview,
  BackfillStatus,
  BackfillsQuery,
  BackfillValue,
  PrefilterBody,
  PrefilterResponse,
} from "../records/backfill.ts";
import {
  PausedSchedules,
  PreviewBody,
  PreviewResponse,
  ResumedSchedules,
  ScheduleBody,
  SchedulePatchBody,
  ScheduleRow,
  SkipBody,
  SkipResponse,
} from "../records/schedule.ts";
import { FiresQuery, ScheduleFires, ScheduleRuns, ScheduleRunsQuery } from "../records/schedule-calendar.ts";
import { UpcomingItem, UpcomingQuery } from "../records/upcoming.ts";
import { type Route, row } from "./route.ts";

const NONE = null;
const NotFound = { 404: ErrorBody };
const Invalid = { 422: ErrorBody };
const BadQuery = { 400: ErrorBody };

export const SCHEDULES: readonly Route[] = [
  row("GET /api/flows/{id}/schedules", "listSchedules", "Schedules of a flow", "read", { 200: Type.Array(ScheduleRow) }),
  row(
    "POST /api/flows/{id}/schedules",
    "createSchedule",
    "Add a schedule to a flow",
    "CreateSchedule",
    { 201: ScheduleRow, ...NotFound, ...Invalid },
    { body: ScheduleBody },
  ),
  row(
    "PUT /api/flows/{id}/schedules/{key}",
    "putSchedule",
    "Create the schedule of a flow with this key, or replace it; it keeps its id, and the runs and skips of fires that stay",
    "PutSchedule",
    { 200: ScheduleRow, 201: ScheduleRow, ...NotFound, ...Invalid },
    { body: ScheduleBody },
  ),
  row("POST /api/flows/{id}/pause", "pauseFlow", "Pause all schedules of a flow", "PauseFlow", { 200: PausedSchedules }),
  row("POST /api/flows/{id}/resume", "resumeFlow", "Resume all schedules of a flow", "ResumeFlow", { 200: ResumedSchedules }),
  row(
    "GET /api/flows/{id}/upcoming",
    "listUpcoming",
    "Runs and fires to come",
    "ListUpcoming",
    { 200: Type.Array(UpcomingItem), ...BadQuery },
    { query: UpcomingQuery },
  ),
  row(
    "POST /api/schedules/preview",
    "previewSchedule",
    "The next fires of a schedule that is not stored",
    "PreviewSchedule",
    { 200: PreviewResponse, ...Invalid },
    { body: PreviewBody },
  ),
  row(
    "PATCH /api/schedules/{sid}",
    "patchSchedule",
    "Change a schedule",
    "PatchSchedule",
    { 200: ScheduleRow, ...NotFound, ...Invalid },
    { body: SchedulePatchBody },
  ),
  row(
    "GET /api/schedules/fires",
    "listFires",
    "Fires to come of all schedules that are not paused, or of one",
    "ListFires",
    { 200: Type.Array(ScheduleFires), ...BadQuery },
    { query: FiresQuery },
  ),
  row(
    "GET /api/schedules/runs",
    "listScheduleRuns",
    "Runs of fires within a time, by schedule and hour",
    "read",
    { 200: Type.Array(ScheduleRuns), ...BadQuery },
    { query: ScheduleRunsQuery },
  ),
  row("DELETE /api/schedules/{sid}", "deleteSchedule", "Delete a schedule and its unstarted runs", "DeleteSchedule", {
    204: NONE,
    ...NotFound,
  }),
  row("POST /api/schedules/{sid}/pause", "pauseSchedule", "Pause a schedule", "PauseSchedule", {
    200: ScheduleRow,
    ...NotFound,
  }),
  row("POST /api/schedules/{sid}/resume", "resumeSchedule", "Resume a schedule", "ResumeSchedule", {
    200: ScheduleRow,
    ...NotFound,
  }),
  row(
    "POST /api/schedules/{sid}/skips",
    "skipFires",
    "Skip fires of a schedule",
    "SkipFires",
    { 200: SkipResponse, ...NotFound, ...Invalid },
    { body: SkipBody },
  ),
  row("DELETE /api/schedules/{sid}/skips/{fire}", "undoSkip", "Undo the skip of a fire", "UndoSkip", {
    200: ScheduleRow,
    ...NotFound,
    ...Invalid,
  }),
];

export const BACKFILLS: readonly Route[] = [
  row(
    "POST /api/flows/{id}/backfill",
    "createBackfill",
    "Create one run per value of a date or datetime parameter",
    "CreateBackfill",
    { 200: BackfillPreview, 201: BackfillStatus, ...NotFound, ...Invalid },
    { body: BackfillBody, idempotency_key: true },
  ),
  row("GET /api/flows/{id}/backfills", "listBackfills", "Backfills of a flow", "read", { 200: Type.Array(BackfillStatus) }),
  row(
    "GET /api/backfills",
    "listAllBackfills",
    "Backfills of all flows, newest first",
    "read",
    { 200: Type.Array(BackfillStatus), ...BadQuery },
    { query: BackfillsQuery },
  ),
  row("GET /api/backfills/{id}/values", "listBackfillValues", "Values of a backfill with their runs", "read", {
    200: Type.Array(BackfillValue),
    ...NotFound,
  }),
  row("GET /api/backfills/{id}", "getBackfill", "A backfill and the counts of its runs", "read", {
    200: BackfillStatus,
    ...NotFound,
  }),
  row("POST /api/backfills/{id}/cancel", "cancelBackfill", "Cancel the unfinished runs of a backfill", "CancelBackfill", {
    200: BackfillStatus,
    ...NotFound,
  }),
  row(
    "POST /api/backfills/{id}/prefilter",
    "prefilterBackfill",
    "Answer the bulk-completion check: skip these values, run the others",
    "PrefilterBackfill",
    { 200: PrefilterResponse, ...NotFound, ...Invalid },
    { body: PrefilterBody },
  ),
];

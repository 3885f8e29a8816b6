/** Requests and answers of engine processes. Internal: no compatibility promise, except that 1.13 engines keep working. */
import Type, { type Static } from "typebox";
import {
  ARTIFACT_BYTES_MAX,
  DETAILS_BYTES_MAX,
  INT32_MAX,
  LOG_MESSAGE_LENGTH_MAX,
  MESSAGE_LENGTH_MAX,
  NAME_LENGTH_MAX,
  PARENTS_COUNT_MAX,
  PAYLOAD_BYTES_MAX,
  REPORT_ITEMS_MAX,
  STATE_NAME_LENGTH_MAX,
} from "../limits.ts";
import {
  AnyJson,
  about,
  Count,
  FreeMap,
  Id,
  Int32,
  Int64,
  NameText,
  nullable,
  optional,
  PathText,
  ReportedTime,
  Strings,
  sent,
  Timestamp,
} from "../values/scalar.ts";
import { DurableWork, ParkProgress, ParkReport, StepReport } from "./durable.ts";
import { StateTypeSchema } from "./state-schema.ts";

/** The fields by which an engine names itself and the runs that it takes. */
export const EngineIdentity = {
  engine_id: Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX }),
  pid: Type.Integer({ minimum: 1, maximum: INT32_MAX }),
  source_dir: PathText,
  module: PathText,
  isolated: Type.Optional(Type.Boolean()),
  nice: Type.Optional(Int32),
  host: optional(
    Type.String({
      maxLength: NAME_LENGTH_MAX,
      description: "Host name and boot id; absent means the peer's connection decides",
    }),
  ),
  run_id: optional(Type.Integer({ ...Int64, description: "The only run this engine wants; absent: any run of its module" })),
};

/** Body of POST /api/engine/work. */
export const WorkRequest = Type.Object(
  {
    ...EngineIdentity,
    wait_ms: Type.Optional(Count),
    owns_stop: optional(Type.Boolean({ description: "The engine ends a run itself on cancel and timeout" })),
  },
  { title: "WorkRequest" },
);
export type WorkRequest = Static<typeof WorkRequest>;

/** Where a run comes from, for its code. */
const RUN_ORIGIN = {
  attempt: Type.Optional(about("Attempts before this hand-out, those of the runs that it repeats after a crash included", Int64)),
  created_by: Type.Optional(Type.String()),
  tags: Type.Optional(Strings),
  fire_time: Type.Optional(about("For a run of a schedule: time of the fire that the run is for", Timestamp)),
  schedule: Type.Optional(
    Type.Object(
      { id: Int64, key: nullable(about("Null without one, and when the schedule was deleted", Type.String())) },
      { description: "Of a run of a schedule" },
    ),
  ),
  lineage_id: Type.Optional(about("As in the record of the run", Int64)),
};
const RunOriginRecord = Type.Object(RUN_ORIGIN);
export type RunOriginRecord = Static<typeof RunOriginRecord>;

/** A run to execute, or a job (`hooks`, `bulk_complete`). */
export const WorkItem = sent(
  Type.Object(
    {
      kind: Type.Optional(
        Type.Unsafe<"run" | "hooks" | "bulk_complete">({ type: "string", enum: ["run", "hooks", "bulk_complete"] }),
      ),
      run_id: Int64,
      run_name: Type.String(),
      external_id: Type.String(),
      project: Type.String(),
      flow: Type.String(),
      parameters: FreeMap,
      options: FreeMap,
      cancel_requested: Type.Boolean(),
      payload: Type.Optional(nullable(FreeMap)),
      lease: Type.Optional(
        nullable(Type.Integer({ format: "int64", description: "Names this assignment; sent back for fencing" })),
      ),
      run_transitions: Type.Optional(Type.Boolean({ description: "Reports may carry run_transition events" })),
      park_after_secs: Type.Optional(
        about("Reports may carry a park: a run that waits longer than this leaves its engine", Type.Number()),
      ),
      progress: Type.Optional(nullable(about("The progress of the park that the run continues from", ParkProgress))),
      durable: Type.Optional(nullable(about("Of a run of a durable flow", DurableWork))),
      traceparent: Type.Optional(about("As in the record of the run", Type.String())),
      ...RUN_ORIGIN,
    },
    { title: "WorkItem" },
  ),
);
export type WorkItem = Static<typeof WorkItem>;

/** The answer to a poll: an item, nothing yet, or the order to exit. */
export const WorkResponse = sent(
  Type.Object({ run: Type.Optional(nullable(WorkItem)), exit: Type.Optional(Type.Boolean()) }, { title: "WorkResponse" }),
);
export type WorkResponse = Static<typeof WorkResponse>;

const seq = Int64;

const ReportedState = Type.Object({
  type: StateTypeSchema,
  name: optional(about(`Cut beyond ${STATE_NAME_LENGTH_MAX} characters`, NameText)),
  message: optional(about(`Cut beyond ${MESSAGE_LENGTH_MAX} characters`, Type.String())),
  details: Type.Optional(about(`Replaced by their size beyond ${DETAILS_BYTES_MAX} bytes`, FreeMap)),
  timestamp: ReportedTime,
});

/** A task run was created; its first move follows. */
export const TaskRunCreatedReport = Type.Object({
  kind: Type.Literal("task_run_created"),
  seq,
  external_id: Id,
  name: NameText,
  task_key: NameText,
  dynamic_key: NameText,
  parents: Type.Optional(Type.Array(Id, { maxItems: PARENTS_COUNT_MAX })),
});
export type TaskRunCreatedReport = Static<typeof TaskRunCreatedReport>;

/** A task run moves to a state; refused moves count as applied and change nothing. */
export const TaskRunTransitionReport = Type.Object({
  kind: Type.Literal("task_run_transition"),
  seq,
  external_id: Id,
  state: ReportedState,
  force: Type.Optional(Type.Boolean()),
});
export type TaskRunTransitionReport = Static<typeof TaskRunTransitionReport>;

/** One reported log line; its task run is given by id or external id. */
export const ReportedLog = Type.Object({
  run_id: Int64,
  task_run_id: optional(Int64),
  task_run_external_id: optional(Id),
  level: Int32,
  logger: NameText,
  timestamp: ReportedTime,
  message: about(`Cut beyond ${LOG_MESSAGE_LENGTH_MAX} characters`, Type.String()),
});
export type ReportedLog = Static<typeof ReportedLog>;

/** Log lines, in order. */
export const LogsReport = Type.Object({
  kind: Type.Literal("logs"),
  seq,
  logs: Type.Array(ReportedLog, { maxItems: REPORT_ITEMS_MAX }),
});
export type LogsReport = Static<typeof LogsReport>;

/** An event of user code. */
export const CustomReport = Type.Object({
  kind: Type.Literal("custom"),
  seq,
  name: about(
    `Blank, beyond ${NAME_LENGTH_MAX} characters or under a reserved prefix, the event is left out, which the run's log says`,
    Type.String(),
  ),
  payload: optional(about(`Beyond ${PAYLOAD_BYTES_MAX} bytes the event is left out, which the run's log says`, AnyJson)),
  task_run_external_id: optional(Id),
});
export type CustomReport = Static<typeof CustomReport>;

/** An artifact; reusing its external id replaces its data. */
export const ArtifactReport = Type.Object({
  kind: Type.Literal("artifact"),
  seq,
  external_id: Id,
  artifact_kind: NameText,
  key: optional(NameText),
  data: about(`Beyond ${ARTIFACT_BYTES_MAX} bytes the artifact is left out, which the run's log says`, AnyJson),
  task_run_external_id: optional(Id),
});
export type ArtifactReport = Static<typeof ArtifactReport>;

/**
 * The run itself moves to a state, as by POST /api/runs/{id}/transition under the lease of the report: an addition of Millrace
 * that saves requests. The move is consumed without effect if there is no lease, if the lease has ended, or if the state table
 * refuses it; the answer's `run_state` shows the outcome.
 */
export const RunTransitionReport = Type.Object({ kind: Type.Literal("run_transition"), seq, state: ReportedState });
export type RunTransitionReport = Static<typeof RunTransitionReport>;

/** The kinds of report events; `seq` grows within one assignment. */
export const ReportEvent = Type.Union([
  TaskRunCreatedReport,
  TaskRunTransitionReport,
  LogsReport,
  CustomReport,
  ArtifactReport,
  RunTransitionReport,
  StepReport,
  ParkReport,
]);
export type ReportEvent = Static<typeof ReportEvent>;

/** The events of one report. */
export const ReportEvents = Type.Array(ReportEvent, { maxItems: REPORT_ITEMS_MAX });

/** Body of POST /api/engine/report. One malformed event rejects the whole report. */
export const ReportRequest = Type.Object(
  { engine_id: NameText, run_id: Int64, events: ReportEvents, lease: optional(Int64) },
  { title: "ReportRequest" },
);
export type ReportRequest = Static<typeof ReportRequest>;

/** Of a durable run: in which order the steps of the report and the outcomes of waits were stored. */
export const STORED_ORDER = {
  applied_at: Type.Optional(about("When the steps of this report were stored; absent if some were stored before", Timestamp)),
  settled_wait: Type.Optional(about("The wait of the run that was settled last, by then; 0: none; absent: not known", Int64)),
};

/** The outcome of a report; everything at or below `last_seq` is done. */
export const ReportResponse = Type.Object(
  {
    applied: Int64,
    skipped: Int64,
    last_seq: Int64,
    cancel: Type.Boolean(),
    fenced: Type.Optional(
      about("Set when the report came under a lease that is over: no move and no step of it was stored", Type.Boolean()),
    ),
    ...STORED_ORDER,
    run_state: Type.Optional(
      Type.Object(
        { type: StateTypeSchema, name: Type.String(), timestamp: Timestamp },
        { description: "The run's state after a report with a run_transition or a park" },
      ),
    ),
  },
  { title: "ReportResponse" },
);
export type ReportResponse = Static<typeof ReportResponse>;

/** Body of POST /api/engine/heartbeat. */
export const HeartbeatRequest = Type.Object(
  { engine_id: NameText, run_id: Int64, lease: optional(Int64) },
  { title: "HeartbeatRequest" },
);
export type HeartbeatRequest = Static<typeof HeartbeatRequest>;

/** `cancel`: a cancel was requested. `active`: the run is known and has not ended. */
export const HeartbeatResponse = Type.Object({ cancel: Type.Boolean(), active: Type.Boolean() });
export type HeartbeatResponse = Static<typeof HeartbeatResponse>;

/** Body of POST /api/engine/failed: the module could not be loaded. */
export const FailedRequest = Type.Object(
  {
    engine_id: NameText,
    source_dir: PathText,
    module: PathText,
    traceback: about(`Cut beyond ${MESSAGE_LENGTH_MAX} characters`, Type.String()),
    isolated: Type.Optional(Type.Boolean()),
    nice: Type.Optional(Int32),
  },
  { title: "FailedRequest" },
);
export type FailedRequest = Static<typeof FailedRequest>;

export const FailedResponse = Type.Object({ failed_runs: Type.Array(Int64) });
export type FailedResponse = Static<typeof FailedResponse>;

/** Task runs: the steps of a run, each with its own state. */
import Type, { type Static } from "typebox";
import { TASK_RUNS_PAGE } from "../limits.ts";
import { pageLimit, pageOf } from "../routes/page.ts";
import { about, Id, Int32, Int64, nullable, sent, Timestamp } from "../values/scalar.ts";
import { StateSchema } from "./state-schema.ts";

/** A task run with the identity of its run. Times and durations are microseconds. */
export const TaskRun = sent(
  Type.Object(
    {
      id: Int64,
      external_id: Id,
      run_id: Int64,
      name: Type.String(),
      task_key: about("Names the task in the code", Type.String()),
      dynamic_key: about("Names this call of the task within the run", Type.String()),
      state: StateSchema,
      crash_count: Int32,
      failure_count: Int32,
      created_at: Timestamp,
      start_time: Type.Optional(nullable(Timestamp)),
      end_time: Type.Optional(nullable(Timestamp)),
      total_run_time: Type.Optional(nullable(about("Microseconds", Int64))),
      parents: Type.Optional(Type.Array(Id, { description: "External ids of the task runs this one waited on" })),
      flow_id: Type.Optional(Int64),
      flow_name: Type.Optional(Type.String()),
      project: Type.Optional(Type.String()),
      run_name: Type.Optional(Type.String()),
    },
    { title: "TaskRun" },
  ),
);
export type TaskRun = Static<typeof TaskRun>;

export const TaskRunsPage = pageOf("TaskRunsPage", TaskRun);
export type TaskRunsPage = Static<typeof TaskRunsPage>;

/** Query of GET /api/task-runs. Filters combine with AND. */
export const TaskRunsQuery = Type.Object({
  run_id: Type.Optional(Int64),
  project: Type.Optional(Type.String()),
  flow: Type.Optional(Type.String()),
  state_type: Type.Optional(Type.String()),
  state_name: Type.Optional(Type.String()),
  name: Type.Optional(Type.String({ description: "Part of the name, case ignored" })),
  start_after: Type.Optional(Int64),
  start_before: Type.Optional(Int64),
  limit: pageLimit(TASK_RUNS_PAGE),
  cursor: Type.Optional(Int64),
});
export type TaskRunsQuery = Static<typeof TaskRunsQuery>;

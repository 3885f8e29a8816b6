/** The tasks of a run: grouped by name with their counts, and one by one. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Run } from "#protocol/records/run";
import { isTerminal } from "#protocol/records/state";
import type { TaskRun } from "#protocol/records/task-run";
import { duration } from "../../format/duration.ts";
import { counted } from "../../format/number.ts";
import { fullTime, shortTime } from "../../format/time.ts";
import { useKeys } from "../../input/keys.ts";
import { offline } from "../../live/link.ts";
import { Segments } from "../../parts/layout.tsx";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import { type Column, Table, TIME_WIDTH } from "../../parts/table/table.tsx";
import { rerunFrom } from "../../records/run-actions.ts";
import { firstLine } from "../../records/why.ts";
import { param, stepParams, withParams } from "../../router/router.ts";
import { StateMark } from "../../state/state-mark.tsx";
import { MoreTasks } from "./more-tasks.tsx";
import type { TabProps } from "./run-page.tsx";
import { wentWrong } from "./task-groups.ts";
import { TaskGroups } from "./task-groups-list.tsx";
import { noTasks, useTasks } from "./tasks.ts";

const COLUMNS: readonly Column<TaskRun>[] = [
  { id: "state", head: "State", width: "152px", narrow: "start", cell: ({ state }) => <StateMark state={state} /> },
  {
    id: "task",
    head: "Task",
    width: "24%",
    narrow: "line",
    cell: ({ dynamic_key, name }) => (
      <span class="cut name" title={dynamic_key}>
        {dynamic_key || name}
      </span>
    ),
  },
  {
    id: "why",
    head: "Message",
    narrow: "line",
    cell: ({ state }) => (
      <span class={`cut why ${state.type === "Failed" ? "hot" : ""}`} title={state.message ?? ""}>
        {firstLine(state.message ?? "")}
      </span>
    ),
  },
  {
    id: "started",
    head: "Started",
    width: TIME_WIDTH,
    align: "right",
    medium: false,
    cell: ({ start_time }) =>
      start_time ? <time title={fullTime(start_time)}>{shortTime(start_time)}</time> : <span class="faint">not yet</span>,
  },
  {
    id: "duration",
    head: "Duration",
    width: "84px",
    align: "right",
    narrow: "end",
    cell: ({ total_run_time }) => (total_run_time === null || total_run_time === undefined ? "" : duration(total_run_time)),
  },
];

/** The column of a durable run that has ended: each task may be the first to run again. */
function againFrom(run: Run): Column<TaskRun> {
  return {
    id: "again",
    head: "",
    width: "128px",
    align: "right",
    narrow: "end",
    cell: ({ dynamic_key }) => (
      <button
        type="button"
        class="button quiet"
        title={`A new run that keeps the results of the tasks before ${dynamic_key}`}
        disabled={offline.value}
        onClick={() => rerunFrom(run, dynamic_key)}
      >
        Retry from here
      </button>
    ),
  };
}

export function Tab({ run }: TabProps): JSX.Element {
  const { tasks, more, error, refresh } = useTasks(run.id);
  const cursor = useSignal<number | string | null>(null);
  const canFork = run.lineage_id !== undefined && isTerminal(run.state.type);
  const columns = useMemo(() => (canFork ? [...COLUMNS, againFrom(run)] : COLUMNS), [run.id, canFork]);
  const failedOnly = param("tasks") === "failed";
  const name = param("task");
  const toggle = () => stepParams({ tasks: failedOnly ? null : "failed" });
  useKeys([{ keys: "f", does: "failed tasks only", run: toggle }], { group: "Tasks" });
  if (error !== null && tasks === null) return <Failure what="The list of tasks" error={error} again={refresh} />;
  if (tasks === null) return <Loading />;
  if (tasks.length === 0) return <Empty title={noTasks(run)}>A flow that calls no task has none.</Empty>;
  const shown = tasks.filter((task) => (!failedOnly || wentWrong(task)) && (name === "" || task.name === name));
  return (
    <div class="split">
      <div>
        <div class="toolbar">
          <Segments
            label="Which tasks"
            options={[
              ["all", "All tasks"],
              ["failed", "Failed only"],
            ]}
            chosen={failedOnly ? "failed" : "all"}
            choose={toggle}
          />
          {name !== "" && (
            <a class="button" href={withParams({ task: null })}>
              {name} {"\u2715"}
            </a>
          )}
          <span class="meta dim">{counted(shown.length, "task")}</span>
        </div>
        <MoreTasks more={more} />
        {shown.length === 0 ? (
          <Empty title="No task failed">{counted(tasks.length, "task")} did well, or are still under way.</Empty>
        ) : (
          <Table
            label="Tasks"
            columns={columns}
            rows={shown}
            keyOf={({ id }) => id}
            total={shown.length}
            cursor={cursor}
            narrowHeight={88}
          />
        )}
      </div>
      <TaskGroups tasks={tasks} />
    </div>
  );
}

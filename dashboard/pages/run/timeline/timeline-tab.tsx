/** The tasks of a run over time; in a wide window with the log and the tasks by name below. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { counted } from "../../../format/number.ts";
import { useKeys } from "../../../input/keys.ts";
import { Section, Segments } from "../../../parts/layout.tsx";
import { useWide } from "../../../parts/media.ts";
import { Empty, Failure, Loading } from "../../../parts/notice.tsx";
import { ProgressOfRun } from "../../../records/run-progress.tsx";
import { param, stepParams } from "../../../router/router.ts";
import { LogPanel } from "../logs/log-panel.tsx";
import { MoreTasks } from "../more-tasks.tsx";
import { attemptStarts } from "../moves.ts";
import type { TabProps } from "../run-page.tsx";
import { TaskGroups } from "../task-groups-list.tsx";
import { noTasks, useTasks } from "../tasks.ts";
import { Chart } from "./chart.tsx";
import { type TimelineRow, timelineRows } from "./rows.ts";
import "./timeline.css";

export function Tab({ run, moves }: TabProps): JSX.Element {
  const { tasks, more, error, refresh } = useTasks(run.id);
  const wide = useWide();
  return (
    <>
      {run.state.type !== "Completed" && <ProgressOfRun id={run.id} />}
      {error !== null && tasks === null && <Failure what="The list of tasks" error={error} again={refresh} />}
      {tasks === null && error === null && <Loading />}
      {tasks?.length === 0 && (
        <Empty title={noTasks(run)}>
          {run.start_time ? "The flow has called no task; what it wrote is in the log." : "The run has not started."}
        </Empty>
      )}
      <MoreTasks more={more} />
      {tasks !== null && tasks.length > 0 && <Tasks {...{ run, moves, tasks }} />}
      {wide && run.start_time && (
        <div class="split">
          <Section title="Log" note="tail">
            <LogPanel run={run} docked />
          </Section>
          {tasks !== null && tasks.length > 0 && <TaskGroups tasks={tasks} />}
        </div>
      )}
    </>
  );
}

function Tasks({ run, moves, tasks }: TabProps & { tasks: NonNullable<ReturnType<typeof useTasks>["tasks"]> }): JSX.Element {
  const failedOnly = param("tasks") === "failed";
  const toggle = () => stepParams({ tasks: failedOnly ? null : "failed" });
  useKeys([{ keys: "f", does: "failed tasks only", run: toggle }], { group: "Timeline" });
  const rows = useMemo(() => timelineRows(tasks, { failedOnly, starts: attemptStarts(moves ?? []) }), [tasks, failedOnly, moves]);
  return (
    <>
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
        <span class="meta dim">{summary(rows, tasks.length, failedOnly)}</span>
      </div>
      {rows.length === 0 ? (
        <Empty title="No task failed">{counted(tasks.length, "task")} did well, or are still under way.</Empty>
      ) : (
        <Chart run={run} rows={rows} />
      )}
    </>
  );
}

function summary(rows: readonly TimelineRow[], tasks: number, failedOnly: boolean): string {
  const folded = rows.reduce((sum, { strong, tasks: of }) => sum + (strong || of === 1 ? 0 : of), 0);
  const text = `${counted(rows.length, "row")} for ${counted(tasks, "task")}`;
  return failedOnly || folded === 0 ? text : `${text}: what is alike is folded`;
}

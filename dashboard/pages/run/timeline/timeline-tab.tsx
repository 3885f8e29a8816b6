/** The tasks of a run in time. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Run } from "#protocol/run";
import { isTerminal } from "#protocol/state";
import type { TaskRun } from "#protocol/task-run";
import { useQuery } from "../../../api/query.ts";
import { duration } from "../../../format/duration.ts";
import { now } from "../../../format/now.ts";
import { counted } from "../../../format/number.ts";
import { clockTime } from "../../../format/time.ts";
import { useKeys } from "../../../input/keys.ts";
import { Segments } from "../../../parts/layout.tsx";
import { useNarrow } from "../../../parts/media.ts";
import { Empty, Failure, Loading } from "../../../parts/notice.tsx";
import { param, setParams, withParams } from "../../../router/router.ts";
import { Glyph } from "../../../state/glyph.tsx";
import type { TabProps } from "../run-page.tsx";
import { type Axis, axisOf, labelsOf } from "./axis.ts";
import { type TimelineRow, timelineRows } from "./rows.ts";
import "./timeline.css";

/** Rows drawn at once; more of them cannot be read. */
const ROWS_MAX = 200;
/** Least distance of labels on the axis, as a share of it: wide and narrow. */
const LABEL_DISTANCE = [0.09, 0.24] as const;

export function Tab({ run }: TabProps): JSX.Element {
  const query = useQuery<TaskRun[]>(`/api/runs/${run.id}/tasks`, {
    live: { "task_run.updated": ({ run_id }) => run_id === run.id },
  });
  const failedOnly = param("tasks") === "failed";
  const toggle = () => setParams({ tasks: failedOnly ? null : "failed" });
  useKeys([{ keys: "f", does: "failed tasks only", run: toggle }], { group: "Timeline" });
  const tasks = query.data;
  const rows = useMemo(() => timelineRows(tasks ?? [], failedOnly), [tasks, failedOnly]);
  if (query.error !== null && tasks === null)
    return <Failure what="The list of tasks" error={query.error} again={query.refresh} />;
  if (tasks === null) return <Loading />;
  if (tasks.length === 0)
    return (
      <Empty title="No tasks yet">
        {run.start_time ? "The flow has called no task; what it wrote is in the logs." : "The run has not started."}
      </Empty>
    );
  const folded = tasks.length - rows.length;
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
        <span class="meta dim">
          {counted(rows.length, "row")} for {counted(tasks.length, "task")}
          {!failedOnly && folded > 0 && `: what is alike is folded`}
          {rows.length > ROWS_MAX && `; the first ${ROWS_MAX} are drawn`}
        </span>
      </div>
      {rows.length === 0 ? (
        <Empty title="No task failed">{counted(tasks.length, "task")} did well, or are still under way.</Empty>
      ) : (
        <Chart run={run} rows={rows.slice(0, ROWS_MAX)} />
      )}
    </>
  );
}

function Chart({ run, rows }: { run: Run; rows: readonly TimelineRow[] }): JSX.Element {
  const goesOn = !isTerminal(run.state.type);
  const present = goesOn ? now.value * 1000 : (run.end_time ?? run.state.timestamp);
  const spans = rows.flatMap(({ bars }) => bars.map(({ fromUs, toUs }) => [fromUs, toUs ?? present] as const));
  const from = Math.min(run.start_time ?? Number.MAX_SAFE_INTEGER, ...spans.map(([begin]) => begin));
  const to = Math.max(present, ...spans.map(([, end]) => end));
  const axis = axisOf(spans, Number.isFinite(from) && from < to ? from : to - 1, to);
  return (
    <div class="timeline" role="group" aria-label="Timeline of tasks">
      <div class="timeline-head">
        <span>Task, failed first</span>
        <div class="timeline-axis" aria-hidden="true">
          {labelsOf(axis, LABEL_DISTANCE[useNarrow() ? 1 : 0]).map((us) => (
            <span
              key={us}
              style={{ left: `${axis.at(us) * 100}%` }}
              class={axis.at(us) > 0.95 ? "last" : axis.at(us) < 0.05 ? "first" : ""}
            >
              {clockTime(us)}
            </span>
          ))}
        </div>
        <span class="num">Busy</span>
      </div>
      <ul>
        {rows.map((row) => (
          <Row key={row.key} row={row} axis={axis} present={present} />
        ))}
      </ul>
    </div>
  );
}

function Row({ row, axis, present }: { row: TimelineRow; axis: Axis; present: number }): JSX.Element {
  const width = (fromUs: number, toUs: number) => `${Math.max(0.15, (axis.at(toUs) - axis.at(fromUs)) * 100)}%`;
  return (
    <li>
      <a
        class={`timeline-name s-${row.token}`}
        href={withParams({ tab: "tasks", task: row.tasks === 1 ? null : (row.name.split(", ")[0] ?? null) })}
      >
        <Glyph name={row.token} size={13} />
        <span class="sr">{row.word}: </span>
        <span class={`cut ${row.strong ? "strong" : ""}`} title={row.name}>
          {row.name}
        </span>
      </a>
      <div class="timeline-bars" aria-hidden="true">
        {axis.idle.map(({ fromUs, toUs }) => (
          <span
            key={fromUs}
            class="idle"
            title={`Nothing ran for ${duration(toUs - fromUs)}`}
            style={{ left: `${axis.at(fromUs) * 100}%`, width: width(fromUs, toUs) }}
          />
        ))}
        {row.bars.map(({ fromUs, toUs, token }, index) => (
          <i
            key={index}
            class={`s-${token} ${toUs === null ? "open" : ""} ${row.strong ? "cap" : ""}`}
            title={`${clockTime(fromUs)}, ${duration((toUs ?? present) - fromUs)}`}
            style={{ left: `${axis.at(fromUs) * 100}%`, width: width(fromUs, toUs ?? present) }}
          />
        ))}
        {row.bars.length === 0 && <span class="never">never started</span>}
      </div>
      <span class="num meta">{row.busyUs > 0 ? duration(row.busyUs) : ""}</span>
    </li>
  );
}

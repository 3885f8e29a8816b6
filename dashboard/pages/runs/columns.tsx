/** The columns of the runs page. */
import type { ReadonlySignal } from "@preact/signals";
import type { Queue } from "#protocol/records/queue";
import { fullTime, shortTime } from "../../format/time.ts";
import { type Column, TIME_WIDTH } from "../../parts/table/table.tsx";
import type { Waiting } from "../../records/queue.ts";
import { creatorOf, DurationBar, FlowName } from "../../records/run-parts.tsx";
import { whyOf } from "../../records/why.ts";
import { StateMark } from "../../state/state-mark.tsx";
import type { RunRow } from "./run-list.ts";

export interface ColumnContext {
  waiting: ReadonlySignal<Waiting>;
  resources: ReadonlySignal<Queue["resources"]>;
  typical: ReadonlySignal<ReadonlyMap<number, number>>;
}

function Started({ row }: { row: RunRow }) {
  const { start_time, scheduled_time } = row.run.value;
  if (start_time === null || start_time === undefined)
    return (
      <span class="faint" title={scheduled_time ? `Scheduled for ${fullTime(scheduled_time)}` : undefined}>
        not yet
      </span>
    );
  return <time title={fullTime(start_time)}>{shortTime(start_time)}</time>;
}

function Why({ row, context }: { row: RunRow; context: ColumnContext }) {
  const run = row.run.value;
  const typical = context.typical.value.get(run.flow_id) ?? null;
  const text = whyOf(run, { waiting: context.waiting.value, resources: context.resources.value, typical });
  const hot =
    run.state.type === "Failed" || run.state.type === "Crashed" || run.state.name === "Late" || run.state.type === "Paused";
  return (
    <span class={`cut why ${hot ? "hot" : ""}`} title={text}>
      {text}
    </span>
  );
}

export function runColumns(context: ColumnContext): readonly Column<RunRow>[] {
  return [
    { id: "state", head: "State", width: "152px", narrow: "start", cell: (row) => <StateMark state={row.run.value.state} /> },
    {
      id: "flow",
      head: "Flow",
      width: "236px",
      narrow: "line",
      cell: ({ run }) => (
        <a class="row-link" href={`/runs/${run.value.id}`}>
          <FlowName run={run.value} />
        </a>
      ),
    },
    {
      id: "run",
      head: "Run",
      width: "10%",
      medium: false,
      sort: ["name_asc"],
      cell: ({ run }) => (
        <span class="cut" title={run.value.name}>
          {run.value.name}
        </span>
      ),
    },
    { id: "why", head: "Why it waits, or why it ended", narrow: "line", cell: (row) => <Why row={row} context={context} /> },
    {
      id: "started",
      head: "Started",
      width: TIME_WIDTH,
      align: "right",
      narrow: "end",
      sort: ["start_desc", "start_asc"],
      cell: (row) => <Started row={row} />,
    },
    {
      id: "duration",
      head: "Duration, typical",
      width: "142px",
      align: "right",
      narrow: "end",
      sort: ["duration_desc", "duration_asc"],
      cell: ({ run }) => <DurationBar run={run.value} typical={context.typical.value.get(run.value.flow_id) ?? null} />,
    },
    {
      id: "by",
      head: "Created by",
      width: "88px",
      medium: false,
      cell: ({ run }) => (
        <span class="cut" title={run.value.created_by}>
          {creatorOf(run.value)}
        </span>
      ),
    },
  ];
}

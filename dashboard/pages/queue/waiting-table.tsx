/** The waiting runs, in the order in which they would start. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Queue, QueuedRun } from "#protocol/records/queue";
import { roughDuration, tickingDuration } from "../../format/duration.ts";
import { now, nowUs } from "../../format/now.ts";
import { count } from "../../format/number.ts";
import { fullTime } from "../../format/time.ts";
import { offline } from "../../live/link.ts";
import { RunNumber, Section } from "../../parts/layout.tsx";
import { Empty } from "../../parts/notice.tsx";
import { type Column, Table } from "../../parts/table/table.tsx";
import { cancelRuns } from "../../records/run-actions.ts";
import { FlowName } from "../../records/run-parts.tsx";
import { reasonText } from "../../records/why.ts";
import { param, withParams } from "../../router/router.ts";
import { StateMark } from "../../state/state-mark.tsx";
import { reasonKey } from "./reasons.tsx";

function whyText(run: QueuedRun, resources: Queue["resources"]): string {
  const { state, scheduled_time } = run;
  if (state.name === "AwaitingRetry" && scheduled_time !== null && scheduled_time > nowUs())
    return `Retries in ${tickingDuration(scheduled_time - nowUs())}`;
  return reasonText(run, resources, scheduled_time);
}

/** Duration of the wait; a run before its time does not wait yet. */
function Age({ run }: { run: QueuedRun }): JSX.Element {
  if (run.reason.code === "not_due" && run.scheduled_time !== null)
    return (
      <time class="faint" title={fullTime(run.scheduled_time)}>
        in {roughDuration(run.scheduled_time - now.value * 1000)}
      </time>
    );
  return <time title={fullTime(run.reason.since)}>{tickingDuration(now.value * 1000 - run.reason.since)}</time>;
}

function columnsFor(resources: Queue["resources"]): readonly Column<QueuedRun>[] {
  return [
    { id: "state", head: "State", width: "160px", narrow: "start", cell: ({ state }) => <StateMark state={state} /> },
    {
      id: "flow",
      head: "Flow",
      width: "236px",
      narrow: "line",
      cell: ({ run_id, project, flow }) => (
        <a class="row-link" href={`/runs/${run_id}`}>
          <FlowName run={{ project, flow_name: flow }} />
        </a>
      ),
    },
    {
      id: "why",
      head: "Why it waits",
      narrow: "line",
      cell: (run) => {
        const text = whyText(run, resources);
        return (
          <span class="cut why" title={text}>
            {text}
          </span>
        );
      },
    },
    { id: "run", head: "Run", width: "88px", align: "right", medium: false, cell: ({ run_id }) => <RunNumber id={run_id} /> },
    {
      id: "priority",
      head: "Priority",
      width: "68px",
      align: "right",
      medium: false,
      cell: ({ priority }) => (priority > 0 ? `+${priority}` : String(priority).replace("-", "\u2212")),
    },
    { id: "waiting", head: "Waiting", width: "104px", align: "right", narrow: "end", cell: (run) => <Age run={run} /> },
    {
      id: "cancel",
      head: <span class="sr">Action</span>,
      width: "92px",
      align: "right",
      cell: ({ run_id, name, state }) => (
        <button
          type="button"
          class="button small quiet"
          disabled={offline.value}
          onClick={() => cancelRuns([{ id: run_id, name, state }])}
        >
          {"Cancel\u2026"}
          <span class="sr"> {name}</span>
        </button>
      ),
    },
  ];
}

export function WaitingTable({ queue }: { queue: Queue }): JSX.Element {
  const cursor = useSignal<number | string | null>(null);
  const wanted = param("why");
  const { runs, resources, waiting } = queue;
  const columns = useMemo(() => columnsFor(resources), [resources]);
  const shown = wanted === "" ? runs : runs.filter((run) => keyOf(run) === wanted);
  const all = wanted === "" ? waiting : (queue.reasons.find((reason) => reasonKey(reason) === wanted)?.count ?? shown.length);
  const note = shown.length < all ? `the first ${count(shown.length)} of ${count(all)}, in order of start` : "in order of start";
  return (
    <Section
      title="Queue"
      note={runs.length === 0 ? undefined : note}
      actions={
        wanted !== "" && (
          <a class="meta underlined" href={withParams({ why: null })}>
            all reasons
          </a>
        )
      }
    >
      {runs.length === 0 && (
        <Empty title="The queue is empty">Runs stand here until an engine and all that they need are free.</Empty>
      )}
      {runs.length > 0 && shown.length === 0 && <p class="calm dim">No run waits for that any more.</p>}
      {shown.length > 0 && (
        <Table
          label="Queue"
          columns={columns}
          rows={shown}
          keyOf={({ run_id }) => run_id}
          href={({ run_id }) => `/runs/${run_id}`}
          total={all}
          cursor={cursor}
        />
      )}
    </Section>
  );
}

function keyOf({ reason, state }: QueuedRun): string {
  return reasonKey({ ...reason, retries: state.name === "AwaitingRetry" && reason.code === "not_due" });
}

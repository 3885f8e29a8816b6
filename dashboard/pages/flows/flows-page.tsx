/** All flows by group, with the results of the latest runs and the next fire. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { FlowSummary } from "#protocol/records/flow";
import { count, counted } from "../../format/number.ts";
import { fullTime, plannedTime } from "../../format/time.ts";
import { useKeys } from "../../input/keys.ts";
import { Key, PageTitle } from "../../parts/layout.tsx";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import { type Column, Table, TIME_WIDTH } from "../../parts/table/table.tsx";
import { CodeProblems } from "../../records/code-problems.tsx";
import { useFlows } from "../../records/flows.ts";
import { pausedText, scheduleText } from "../../records/schedule-words.ts";
import { firstLine } from "../../records/why.ts";
import { param, stepParams, typeParams } from "../../router/router.ts";
import { Glyph } from "../../state/glyph.tsx";
import { Reloaded } from "./reloaded.tsx";
import { ResultStrip } from "./result-strip.tsx";
import "./flows.css";

/** The next fire of the flow's schedules; null without schedules. */
export function nextFireOf({ schedules }: FlowSummary): number | null {
  const times = schedules.flatMap(({ next_fire }) => (next_fire === null ? [] : [next_fire]));
  return times.length === 0 ? null : Math.min(...times);
}

/** Notes on a flow: it does not load, is paused, or is not served. `brief` if the cause is shown below. */
export function Standing({ flow, brief = false }: { flow: FlowSummary; brief?: boolean }): JSX.Element {
  if (flow.error !== null)
    return (
      <span class="standing s-failed" title={flow.error}>
        <Glyph name="flow-error" /> <span class="cut">Does not load{brief ? "" : `: ${firstLine(flow.error)}`}</span>
      </span>
    );
  if (flow.schedule_error !== null)
    return (
      <span class="standing s-late" title={flow.schedule_error}>
        <Glyph name="late" /> <span class="cut">Wrong schedule{brief ? "" : `: ${firstLine(flow.schedule_error)}`}</span>
      </span>
    );
  const paused = flow.schedules.length > 0 ? flow.schedules.map(pausedText).find((text) => text !== null) : undefined;
  if (paused !== undefined)
    return (
      <span class="standing s-paused">
        <Glyph name="paused" />{" "}
        <span class="cut">
          {flow.schedules.every(({ active }) => !active) ? `Schedules ${paused}` : `One schedule ${paused}`}
        </span>
      </span>
    );
  return <span class="faint">{flow.live ? "live" : "not served now"}</span>;
}

const COLUMNS: readonly Column<FlowSummary>[] = [
  {
    id: "flow",
    head: "Flow",
    width: "30%",
    narrow: "start",
    cell: ({ id, name }) => (
      <a class="row-link cut name" href={`/flows/${id}`} title={name}>
        {name}
      </a>
    ),
  },
  { id: "project", head: "Project", width: "12%", medium: false, cell: ({ project }) => <span class="cut">{project}</span> },
  {
    id: "results",
    head: "Last 20 results",
    width: "176px",
    narrow: "line",
    cell: ({ results }) => <ResultStrip results={results ?? []} />,
  },
  { id: "standing", head: "Standing", narrow: "line", cell: (flow) => <Standing flow={flow} /> },
  {
    id: "schedules",
    head: "Schedules",
    width: "16%",
    medium: false,
    cell: ({ schedules }) => <span class="cut dim">{schedules.map(({ schedule }) => scheduleText(schedule)).join("; ")}</span>,
  },
  {
    id: "next",
    head: "Next fire",
    width: TIME_WIDTH,
    align: "right",
    narrow: "end",
    cell: (flow) => {
      const next = nextFireOf(flow);
      return next === null ? <span class="faint no-fire">none</span> : <time title={fullTime(next)}>{plannedTime(next)}</time>;
    },
  },
];

/** If the group is the project, the column would repeat the group's heading. */
const WITHOUT_PROJECT = COLUMNS.filter(({ id }) => id !== "project");

export function Page(): JSX.Element {
  const flows = useFlows();
  const cursor = useSignal<number | string | null>(null);
  const text = param("q").toLowerCase();
  const shown = (flows.data ?? []).filter((flow) =>
    `${flow.project} / ${flow.name} ${flow.tags.join(" ")}`.toLowerCase().includes(text),
  );
  const groups = [...Map.groupBy(shown, ({ group, project }) => group ?? project)].sort(([a], [b]) => a.localeCompare(b));
  useKeys([{ keys: "/", does: "search flows", run: () => document.querySelector<HTMLElement>(".flow-search input")?.focus() }], {
    group: "Flows",
  });
  return (
    <>
      <PageTitle title="Flows" beside={flows.data !== null && <span class="faint">{count(flows.data.length)}</span>} />
      <Reloaded />
      <div class="toolbar">
        <label class="field search flow-search">
          <Glyph name="search" />
          <span class="sr">Search flows</span>
          <input
            type="text"
            placeholder="Flow, project or tag"
            value={param("q")}
            onInput={(event) => typeParams({ q: event.currentTarget.value })}
          />
          <Key name="/" />
        </label>
      </div>
      <CodeProblems />
      {flows.error !== null && <Failure what="The flows" error={flows.error} again={flows.refresh} />}
      {flows.data === null && flows.error === null && <Loading rows={10} />}
      {flows.data?.length === 0 && (
        <Empty title="No flows yet" command="npx millrace serve DIRECTORY">
          A server shows the flows of the directory that it serves.
        </Empty>
      )}
      {flows.data !== null && flows.data.length > 0 && shown.length === 0 && (
        <Empty title="No flow matches">
          <button type="button" class="button small" onClick={() => stepParams({ q: null })}>
            All {counted(flows.data.length, "flow")}
          </button>
        </Empty>
      )}
      {groups.map(([group, members]) => (
        <section class="section flow-group" key={group}>
          <h2>
            {group} <span class="meta faint">{count(members.length)}</span>
          </h2>
          <Table
            label={`Flows of ${group}`}
            columns={members.every(({ project }) => project === group) ? WITHOUT_PROJECT : COLUMNS}
            rows={members}
            keyOf={({ id }) => id}
            href={({ id }) => `/flows/${id}`}
            total={members.length}
            cursor={cursor}
          />
        </section>
      ))}
    </>
  );
}

/** The engine processes: the run of each, its duration, and the time of the last contact. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { QueueEngine } from "#protocol/records/queue";
import type { Run } from "#protocol/records/run";
import type { EngineInfo } from "#protocol/records/server";
import { roughDuration } from "../../format/duration.ts";
import { count } from "../../format/number.ts";
import { type Column, Table } from "../../parts/table/table.tsx";
import { DurationBar, FlowName } from "../../records/run-parts.tsx";
import { useTypical } from "../../records/typical.ts";
import { lookOf } from "../../state/look.ts";
import { StateGlyph } from "../../state/state-mark.tsx";

const US_PER_SECOND = 1_000_000;
/** An idle engine polls every 30 s, an engine with a run reports every 5 s. */
const SILENT_SECS = 45;

interface EngineRow {
  engine: EngineInfo;
  run: Run | null;
  /** Seconds since the last contact; null for an engine that the queue does not know yet. */
  contact: number | null;
}

function Note({ row: { engine, contact } }: { row: EngineRow }): JSX.Element {
  const silent = contact !== null && contact > SILENT_SECS;
  const notes = [
    ...(silent ? [`silent for ${roughDuration(contact * US_PER_SECOND)}`] : []),
    ...(engine.exit_requested ? ["asked to leave"] : []),
    ...(engine.isolated ? ["isolated"] : []),
    ...(engine.adopted ? ["adopted"] : []),
    ...(engine.nice !== 0 ? [`nice ${engine.nice}`] : []),
  ];
  const text = notes.join("; ");
  return (
    <span class={`cut meta ${silent ? "s-late engine-silent" : "dim"}`} title={text}>
      {text}
    </span>
  );
}

function RunsNow({ row: { engine, run } }: { row: EngineRow }): JSX.Element {
  if (engine.current_run === null) return <span class="faint">idle</span>;
  if (run === null)
    return (
      <a class="row-link" href={`/runs/${engine.current_run}`}>
        run {engine.current_run}
      </a>
    );
  return (
    <span class="row">
      <StateGlyph look={lookOf(run.state)} />
      <a class="row-link" href={`/runs/${run.id}`}>
        <FlowName run={run} />
      </a>
    </span>
  );
}

function columnsFor(typical: ReadonlyMap<number, number>): readonly Column<EngineRow>[] {
  return [
    { id: "pid", head: "Engine", width: "72px", narrow: "start", cell: ({ engine }) => <b class="number">{engine.pid}</b> },
    {
      id: "module",
      head: "Module",
      width: "14%",
      medium: false,
      cell: ({ engine: { module, source_dir } }) => (
        <span class="cut dim" title={`${module} of ${source_dir}`}>
          {module}
        </span>
      ),
    },
    { id: "run", head: "Runs now", narrow: "line", cell: (row) => <RunsNow row={row} /> },
    {
      id: "for",
      head: "For, typical",
      width: "180px",
      align: "right",
      narrow: "end",
      cell: ({ run }) => run !== null && <DurationBar run={run} typical={typical.get(run.flow_id) ?? null} />,
    },
    { id: "done", head: "Runs done", width: "80px", align: "right", cell: ({ engine }) => count(engine.runs_done) },
    {
      id: "up",
      head: "Up",
      width: "72px",
      align: "right",
      medium: false,
      cell: ({ engine }) => roughDuration(engine.uptime_secs * US_PER_SECOND),
    },
    {
      id: "contact",
      head: "Last heard",
      width: "92px",
      align: "right",
      medium: false,
      cell: ({ contact }) =>
        contact === null ? (
          <span class="faint">not yet</span>
        ) : (
          <span class="dim">{roughDuration(contact * US_PER_SECOND)} ago</span>
        ),
    },
    { id: "note", head: "Note", width: "15%", narrow: "line", cell: (row) => <Note row={row} /> },
  ];
}

export interface EnginesProps {
  engines: readonly EngineInfo[];
  polled: readonly QueueEngine[];
  started: ReadonlyMap<number, Run>;
}

export function EnginesTable({ engines, polled, started }: EnginesProps): JSX.Element {
  const cursor = useSignal<number | string | null>(null);
  const typical = useTypical().value;
  const columns = useMemo(() => columnsFor(typical), [typical]);
  const contacts = new Map(polled.map(({ id, contact_secs }) => [id, contact_secs]));
  const rows = engines
    .map((engine) => ({ engine, run: started.get(engine.current_run ?? 0) ?? null, contact: contacts.get(engine.id) ?? null }))
    .sort((a, b) => Number(b.engine.current_run !== null) - Number(a.engine.current_run !== null) || a.engine.pid - b.engine.pid);
  return (
    <Table
      label="Engines"
      columns={columns}
      rows={rows}
      keyOf={({ engine }) => engine.id}
      total={rows.length}
      cursor={cursor}
      keys={false}
    />
  );
}

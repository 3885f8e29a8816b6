/** The engine processes: the runs of each, their durations, and the time of the last contact. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { QueueEngine } from "#protocol/records/queue";
import type { Run } from "#protocol/records/run";
import type { EngineInfo } from "#protocol/records/server";
import { roughDuration } from "../../format/duration.ts";
import { now } from "../../format/now.ts";
import { count, counted } from "../../format/number.ts";
import { type Column, Table } from "../../parts/table/table.tsx";
import { DurationBar, FlowName } from "../../records/run-parts.tsx";
import { useTypical } from "../../records/typical.ts";
import { lookOf } from "../../state/look.ts";
import { StateGlyph } from "../../state/state-mark.tsx";

const US_PER_SECOND = 1_000_000;
/** An idle engine polls every 30 s, an engine with a run reports every 5 s. */
const SILENT_SECS = 45;
/** Runs of an engine that are listed before the others are asked for. */
const RUNS_FIRST = 4;

/** One row for each run of an engine, one for an engine without a run. The first row of an engine describes the engine. */
interface EngineRow {
  key: string;
  engine: EngineInfo;
  first: boolean;
  /** Runs in the engine. */
  held: number;
  /** The run of this row; null for an idle engine, and in the row that lists the others on request. */
  runId: number | null;
  run: Run | null;
  /** Runs that a click on this row lists or hides; 0 for a row without that button. */
  others: number;
  opened: boolean;
  /** What the queue knows of the engine; null for an engine that the queue does not know yet. */
  polled: QueueEngine | null;
}

/** Lists or hides the other runs of an engine. */
type Toggle = (engineId: string) => void;

function EngineName({ row: { engine, first } }: { row: EngineRow }): JSX.Element {
  return first ? <b class="number">{engine.pid}</b> : <span class="sr">of engine {engine.pid}</span>;
}

function LastHeard({ row: { first, polled } }: { row: EngineRow }): JSX.Element | null {
  if (!first) return null;
  if (polled === null) return <span class="faint">not yet</span>;
  return <span class="dim">{roughDuration(polled.contact_secs * US_PER_SECOND)} ago</span>;
}

function Note({ row: { engine, polled } }: { row: EngineRow }): JSX.Element {
  const contact = polled?.contact_secs ?? 0;
  const silent = contact > SILENT_SECS;
  const blockedSince = polled?.blocked_since ?? null;
  const notes = [
    ...(silent ? [`silent for ${roughDuration(contact * US_PER_SECOND)}`] : []),
    ...(blockedSince !== null ? [`held by the code of one run for ${roughDuration(now.value * 1000 - blockedSince)}`] : []),
    ...(engine.exit_requested ? ["asked to leave"] : []),
    ...(engine.isolated ? ["isolated"] : []),
    ...(engine.adopted ? ["adopted"] : []),
    ...(engine.nice !== 0 ? [`nice ${engine.nice}`] : []),
  ];
  const text = notes.join("; ");
  return (
    <span class={`cut meta ${silent || blockedSince !== null ? "s-late engine-late" : "dim"}`} title={text}>
      {text}
    </span>
  );
}

function RunsNow({ row: { engine, runId, run, others, opened }, toggle }: { row: EngineRow; toggle: Toggle }): JSX.Element {
  if (others > 0)
    return (
      <button type="button" class="button quiet small" aria-expanded={opened} onClick={() => toggle(engine.id)}>
        {opened ? `Hide ${counted(others, "run")}` : `Show ${counted(others, "more run")}`}
        <span class="sr"> of engine {engine.pid}</span>
      </button>
    );
  if (runId === null) return <span class="faint">idle</span>;
  if (run === null)
    return (
      <a class="row-link" href={`/runs/${runId}`}>
        run {runId}
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

function columnsFor(typical: ReadonlyMap<number, number>, toggle: Toggle): readonly Column<EngineRow>[] {
  return [
    { id: "pid", head: "Engine", width: "72px", narrow: "start", cell: (row) => <EngineName row={row} /> },
    {
      id: "module",
      head: "Module",
      width: "14%",
      medium: false,
      cell: ({ first, engine: { module, source_dir } }) =>
        first && (
          <span class="cut dim" title={`${module} of ${source_dir}`}>
            {module}
          </span>
        ),
    },
    { id: "run", head: "Runs now", narrow: "line", cell: (row) => <RunsNow row={row} toggle={toggle} /> },
    {
      id: "for",
      head: "For, typical",
      width: "180px",
      align: "right",
      narrow: "end",
      cell: ({ run }) => run !== null && <DurationBar run={run} typical={typical.get(run.flow_id) ?? null} />,
    },
    { id: "held", head: "Runs", width: "56px", align: "right", cell: ({ first, held }) => first && count(held) },
    { id: "done", head: "Done", width: "72px", align: "right", cell: ({ first, engine }) => first && count(engine.runs_done) },
    {
      id: "up",
      head: "Up",
      width: "72px",
      align: "right",
      medium: false,
      cell: ({ first, engine }) => first && roughDuration(engine.uptime_secs * US_PER_SECOND),
    },
    { id: "contact", head: "Last heard", width: "92px", align: "right", medium: false, cell: (row) => <LastHeard row={row} /> },
    { id: "note", head: "Note", width: "15%", narrow: "line", cell: (row) => row.first && <Note row={row} /> },
  ];
}

/** The rows of an engine. */
function rowsOf(engine: EngineInfo, polled: QueueEngine | null, started: ReadonlyMap<number, Run>, opened: boolean): EngineRow[] {
  const runs = polled?.run_ids ?? (engine.current_run === null ? [] : [engine.current_run]);
  const others = runs.length > RUNS_FIRST ? runs.length - RUNS_FIRST : 0;
  const common = { engine, polled, held: runs.length, opened };
  const listed = opened ? runs : runs.slice(0, RUNS_FIRST);
  const rows = (listed.length === 0 ? [null] : listed).map((runId, index) => ({
    ...common,
    key: index === 0 ? engine.id : `${engine.id} ${runId}`,
    first: index === 0,
    runId,
    run: started.get(runId ?? 0) ?? null,
    others: 0,
  }));
  if (others === 0) return rows;
  return [...rows, { ...common, key: `${engine.id} others`, first: false, runId: null, run: null, others }];
}

export interface EnginesProps {
  engines: readonly EngineInfo[];
  polled: readonly QueueEngine[];
  started: ReadonlyMap<number, Run>;
}

export function EnginesTable({ engines, polled, started }: EnginesProps): JSX.Element {
  const cursor = useSignal<number | string | null>(null);
  const opened = useSignal<ReadonlySet<string>>(new Set());
  const typical = useTypical().value;
  const columns = useMemo(() => {
    const toggle: Toggle = (id) => {
      const { value } = opened;
      opened.value = value.has(id) ? new Set([...value].filter((one) => one !== id)) : new Set([...value, id]);
    };
    return columnsFor(typical, toggle);
  }, [typical, opened]);
  const polledById = new Map(polled.map((engine) => [engine.id, engine]));
  const rows = [...engines]
    .sort((a, b) => Number(b.current_run !== null) - Number(a.current_run !== null) || a.pid - b.pid)
    .flatMap((engine) => rowsOf(engine, polledById.get(engine.id) ?? null, started, opened.value.has(engine.id)));
  return (
    <Table
      label="Engines"
      columns={columns}
      rows={rows}
      keyOf={({ key }) => key}
      total={rows.length}
      cursor={cursor}
      keys={false}
    />
  );
}

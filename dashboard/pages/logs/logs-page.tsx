/** The search through the logs of all runs. A person decides how far back it goes: each step searches a bounded part. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { FoundLog } from "#protocol/records/log";
import { withQuery } from "../../api/client.ts";
import { counted } from "../../format/number.ts";
import { fullTime, shortTime } from "../../format/time.ts";
import { useKeys } from "../../input/keys.ts";
import { useTypedText } from "../../input/typed-text.ts";
import { Key, PageTitle, Select } from "../../parts/layout.tsx";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import { type Column, Table, TIME_WIDTH } from "../../parts/table/table.tsx";
import { useFlows } from "../../records/flows.ts";
import { LOG_LEVELS, levelWord } from "../../records/log-level.ts";
import { param, stepParams, typeParams } from "../../router/router.ts";
import { Glyph } from "../../state/glyph.tsx";
import { type LogFilters, LogSearch, readLogFilters } from "./log-search.ts";

const TYPING_MS = 400;
/** The server's limit. */
const SEARCH_LENGTH_MAX = 200;
const NARROW_HEIGHT = 84;

/** The log of the line's run, with the same search. */
function lineAddress({ run_id }: FoundLog): string {
  return withQuery(`/runs/${run_id}`, { tab: "logs", find: param("q"), level: param("level") });
}

const COLUMNS: readonly Column<FoundLog>[] = [
  {
    id: "time",
    head: "Time",
    width: TIME_WIDTH,
    narrow: "end",
    cell: ({ timestamp }) => <time title={fullTime(timestamp)}>{shortTime(timestamp)}</time>,
  },
  { id: "level", head: "Level", width: "72px", cell: ({ level }) => <span class="dim">{levelWord(level)}</span> },
  {
    id: "run",
    head: "Run",
    width: "26%",
    narrow: "start",
    cell: (line) => (
      <a class="row-link cut name" href={lineAddress(line)} title={`${line.project} / ${line.flow_name}, ${line.run_name}`}>
        {line.flow_name} / {line.run_name}
      </a>
    ),
  },
  {
    id: "message",
    head: "Line",
    narrow: "line",
    cell: ({ message, logger }) => (
      <span class="cut mono" title={`${logger}: ${message}`}>
        {message}
      </span>
    ),
  },
];

export function Page(): JSX.Element {
  const filters = readLogFilters();
  const key = JSON.stringify(filters);
  const search = useMemo(() => new LogSearch(filters), [key]);
  useEffect(() => () => search.pages.end(), [search]);
  const cursor = useSignal<number | string | null>(null);
  const rows = search.rows.value;
  const { loaded, error } = search.pages;
  return (
    <>
      <PageTitle title="Logs" beside={<span class="faint">of all runs, newest first</span>} />
      <Filters filters={filters} />
      {error.value !== null && <Failure what="The search" error={error.value} again={() => void search.pages.reload()} />}
      {!loaded.value && error.value === null && <Loading rows={12} />}
      {rows.length > 0 && (
        <Table<FoundLog>
          label="Log lines"
          columns={COLUMNS}
          rows={rows}
          keyOf={({ id }) => id}
          href={lineAddress}
          total={rows.length}
          cursor={cursor}
          narrowHeight={NARROW_HEIGHT}
        />
      )}
      {loaded.value && rows.length === 0 && <Nothing complete={search.pages.complete.value} filters={filters} />}
      {loaded.value && <Reach search={search} />}
    </>
  );
}

/** How far the search has come, and the step further back. */
function Reach({ search }: { search: LogSearch }): JSX.Element {
  const going = useSignal(false);
  const further = async () => {
    going.value = true;
    await search.pages.more();
    going.value = false;
  };
  const { searched, until } = search;
  const lines = counted(searched.value, "line");
  return (
    <p class="row wrap" role="status">
      <span class="dim">
        {until.value === null ? `The whole log was searched: ${lines}.` : `Searched ${lines}, back to ${fullTime(until.value)}.`}
      </span>
      {!search.pages.complete.value && (
        <button type="button" class="button" disabled={going.value} onClick={further}>
          Search further back
        </button>
      )}
    </p>
  );
}

function Nothing({ complete, filters }: { complete: boolean; filters: LogFilters }): JSX.Element {
  if (!complete) return <Empty title="No line matches so far">Older lines were not searched yet.</Empty>;
  if (Object.values(filters).every((value) => value === ""))
    return <Empty title="No log lines yet">What flows and their tasks log, and what they print, is found here.</Empty>;
  return (
    <Empty title="No line matches">
      <a href="/logs">All lines</a>
    </Empty>
  );
}

function Filters({ filters }: { filters: LogFilters }): JSX.Element {
  const flows = useFlows().data ?? [];
  const field = useRef<HTMLInputElement>(null);
  const [text, type] = useTypedText({ filter: () => param("q"), apply: (q) => typeParams({ q: q.trim() }), waitMs: TYPING_MS });
  useKeys([{ keys: "/", does: "search the logs", run: () => field.current?.focus() }], { group: "Logs" });
  return (
    <div class="toolbar">
      <label class="field search">
        <Glyph name="search" />
        <span class="sr">Search the logs</span>
        <input
          ref={field}
          type="text"
          maxLength={SEARCH_LENGTH_MAX}
          placeholder="Part of a line"
          value={text}
          onInput={(event) => type(event.currentTarget.value)}
        />
        <Key name="/" />
      </label>
      <Select
        label="Flow"
        options={[["", "Any flow"], ...flows.map(({ id, project, name }) => [String(id), `${project} / ${name}`] as const)]}
        chosen={filters.flow_id}
        choose={(flow) => stepParams({ flow })}
      />
      <Select label="Level" options={LOG_LEVELS} chosen={filters.level} choose={(level) => stepParams({ level })} />
      {Object.values(filters).some((value) => value !== "") && (
        <a class="button quiet" href="/logs">
          Clear
        </a>
      )}
    </div>
  );
}

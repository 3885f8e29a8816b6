/** All runs: filters, live updates, and actions on several runs at once. */
import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Run, RunCounts } from "#protocol/records/run";
import { useQuery } from "../../api/query.ts";
import { count, counted } from "../../format/number.ts";
import { useKeys } from "../../input/keys.ts";
import { offline } from "../../live/link.ts";
import { Key, PageTitle } from "../../parts/layout.tsx";
import { NewsBar } from "../../parts/news-bar.tsx";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import { Table } from "../../parts/table/table.tsx";
import { useQueue, waitingById } from "../../records/queue.ts";
import { cancelRuns, deleteRuns, isActive, leaving } from "../../records/run-actions.ts";
import { useTypical } from "../../records/typical.ts";
import { stepParams } from "../../router/router.ts";
import { isRestoring } from "../../router/scroll.ts";
import { runColumns } from "./columns.tsx";
import { RunFilterBar } from "./filter-bar.tsx";
import { countsPath, filterKey, hasRunFilters, type RunFilters, readRunFilters, totalPath } from "./filters.ts";
import { RunList, type RunRow } from "./run-list.ts";
import { SavedViews } from "./saved-views.tsx";

/** Rows enter automatically while the list is scrolled by at most this much. */
const TOP_PX = 40;
const NARROW_HEIGHT = 92;

export function Page(): JSX.Element {
  const filters = readRunFilters();
  const list = useRunList(filters);
  const counts = useQuery<RunCounts>(countsPath(filters), { live: { "run.updated": true } });
  const cursor = useSignal<number | string | null>(null);
  const selection = useSignal<ReadonlySet<number | string>>(new Set());
  const columns = useColumns();
  const rows = useComputed(() => list.rows.value.filter(({ id }) => !leaving.value.has(id)));
  const listed = useQuery<RunCounts>(filters.states === "" ? null : totalPath(filters), { live: { "run.updated": true } });
  const more = counts.data?.more === true;
  const known = filters.states === "" ? totalOf(filters, counts.data) : (listed.data?.total ?? null);
  const total = known === null ? rows.value.length : Math.max(known, more ? rows.value.length : 0);
  useKeys([{ keys: ".", does: "show new runs", run: () => showNews(list) }], { group: "Runs" });
  const clear = () => {
    selection.value = new Set();
  };
  const chosen = () => rows.peek().flatMap(({ id, run }) => (selection.value.has(id) ? [run.peek()] : []));
  return (
    <>
      <PageTitle title="Runs" actions={<SavedViews />} />
      <RunFilterBar filters={filters} counts={counts.data} stale={counts.stale} />
      <News list={list} />
      {list.pages.error.value !== null && (
        <Failure what="The list" error={list.pages.error.value} again={() => list.pages.reload()} />
      )}
      {!list.pages.loaded.value && list.pages.error.value === null && <Loading rows={12} />}
      {list.pages.loaded.value && rows.value.length === 0 && !list.pages.stale.value && (
        <Nothing filters={filters} all={counts.data?.total ?? 0} complete={list.pages.complete.value} />
      )}
      {rows.value.length > 0 && (
        <Table<RunRow>
          label="Runs"
          columns={columns}
          rows={rows.value}
          keyOf={(row) => row.id}
          href={(row) => `/runs/${row.id}`}
          {...{ total, cursor, selection }}
          stale={list.pages.stale.value}
          narrowHeight={NARROW_HEIGHT}
          nearEnd={() => list.more()}
          sorted={{ by: filters.sort, choose: (sort) => stepParams({ sort }) }}
          foot={({ first, last }) => <Foot {...{ first, last, total, more, chosen, clear }} />}
        />
      )}
    </>
  );
}

function useRunList(filters: RunFilters): RunList {
  const list = useMemo(() => new RunList(filters), []);
  const key = filterKey(filters);
  const first = useRef(true);
  list.atTop = () => window.scrollY <= TOP_PX && !document.hidden;
  useEffect(() => {
    if (!first.current && !isRestoring()) window.scrollTo(0, 0);
    first.current = false;
    list.show(filters);
  }, [key]);
  useEffect(() => () => list.end(), []);
  return list;
}

function useColumns() {
  const queue = useSignal<ReturnType<typeof useQueue>>(null);
  queue.value = useQueue();
  const waiting = useComputed(() => waitingById(queue.value));
  const resources = useComputed(() => queue.value?.resources ?? []);
  const typical = useTypical();
  return useMemo(() => runColumns({ waiting, resources, typical }), []);
}

/** Total number of runs in the list, from the counts of the server. */
function totalOf(filters: RunFilters, counts: RunCounts | null): number | null {
  if (counts === null) return null;
  return filters.state_name === "" ? counts.total : (counts.states[filters.state_name] ?? 0);
}

/** Scrolls to the top of the list, where new rows are. */
function showNews(list: RunList): void {
  window.scrollTo(0, 0);
  list.pages.reload();
}

/** New rows never move the page: they wait above it. */
function News({ list }: { list: RunList }): JSX.Element | null {
  const news = list.news.value;
  if (news.length === 0) return null;
  const wrong = news.filter(({ state }) => state.type === "Failed" || state.type === "Crashed").length;
  const note = wrong > 0 ? `${wrong} of them went wrong` : "";
  return <NewsBar text={counted(news.length, "new run")} note={note} show={() => showNews(list)} />;
}

interface FootProps {
  first: number;
  last: number;
  total: number;
  /** The list may have more than the total. */
  more: boolean;
  chosen: () => Run[];
  clear: () => void;
}

function Foot({ first, last, total, more, chosen, clear }: FootProps): JSX.Element {
  const runs = chosen();
  const active = runs.filter(isActive);
  const act = (what: (runs: readonly Run[]) => void, on: readonly Run[]) => () => {
    what(on);
    clear();
  };
  return (
    <div class="foot">
      {runs.length > 0 && (
        <div class="row" role="group" aria-label="Selection">
          <b>{count(runs.length)} selected</b>
          {active.length > 0 && (
            <button type="button" class="button small" disabled={offline.value} onClick={() => cancelRuns(active)}>
              Cancel {counted(active.length, "run")}
              {"\u2026"}
            </button>
          )}
          <button type="button" class="button small" disabled={offline.value} onClick={act(deleteRuns, runs)}>
            Delete {counted(runs.length, "run")}
          </button>
          <button type="button" class="button small quiet" onClick={clear}>
            Clear
          </button>
        </div>
      )}
      <span class="push">
        Rows {count(first)} to {count(last)} of {more ? "at least " : ""}
        {count(total)}
      </span>
      <span class="row keys-hint">
        <Key name="j" /> <Key name="k" /> move <Key name="x" /> select <Key name="f" /> went wrong <Key name="?" /> keys
      </span>
    </div>
  );
}

function Nothing({ filters, all, complete }: { filters: RunFilters; all: number; complete: boolean }): JSX.Element {
  if (!complete) return <p class="calm dim">{"No run so far; older runs are being searched\u2026"}</p>;
  if (!hasRunFilters(filters))
    return (
      <Empty title="No runs yet" command="npx millrace run FLOW">
        Start one from code or from here. Every run of every flow will be listed on this page.
      </Empty>
    );
  return (
    <Empty title="No run matches">
      <p>{all === 0 ? "No run fits these filters." : `${counted(all, "run")} fit all filters but that of the state.`}</p>
      <p class="row wrap">
        {filters.range !== "" && (
          <button type="button" class="button small" onClick={() => stepParams({ range: null })}>
            Any time
          </button>
        )}
        {(filters.state_name !== "" || filters.states !== "") && (
          <button type="button" class="button small" onClick={() => stepParams({ state: null, states: null })}>
            Any state
          </button>
        )}
        <a class="button small" href="/runs">
          All runs
        </a>
      </p>
    </Empty>
  );
}

/** All recorded events, newest first and live, with filters and each event in full. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Event } from "#protocol/records/event";
import { count, counted } from "../../format/number.ts";
import { useKeys } from "../../input/keys.ts";
import { Key, PageTitle } from "../../parts/layout.tsx";
import { NewsBar } from "../../parts/news-bar.tsx";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import { Table } from "../../parts/table/table.tsx";
import { param, withParams } from "../../router/router.ts";
import { isRestoring } from "../../router/scroll.ts";
import { COLUMNS } from "./columns.tsx";
import { EventDetail } from "./event-detail.tsx";
import { EventList } from "./event-list.ts";
import { EventFilterBar } from "./filter-bar.tsx";
import { type EventFilters, hasEventFilters, readEventFilters } from "./filters.ts";
import "./events.css";

/** Rows enter automatically while the list is scrolled by at most this much. */
const TOP_PX = 40;
const NARROW_HEIGHT = 84;

export function Page(): JSX.Element {
  const filters = readEventFilters();
  const paused = useSignal(false);
  const list = useEventList(filters, () => paused.peek());
  const cursor = useSignal<number | string | null>(null);
  const chosen = param("event");
  const pause = () => {
    paused.value = !paused.value;
    if (!paused.value) list.showNews();
  };
  const showNews = () => {
    list.showNews();
    window.scrollTo(0, 0);
  };
  useKeys(
    [
      { keys: ".", does: "show new events", run: showNews },
      { keys: "p", does: "pause or resume the feed", run: pause },
    ],
    { group: "Events" },
  );
  const rows = list.rows.value;
  const news = list.news.value;
  return (
    <>
      <PageTitle
        title="Events"
        beside={paused.value && <span class="faint">the feed is paused; nothing is lost</span>}
        actions={
          <button type="button" class="button" aria-pressed={paused.value} onClick={pause}>
            {paused.value ? "Resume feed" : "Pause feed"} <Key name="p" />
          </button>
        }
      />
      <EventFilterBar filters={filters} />
      {news.length > 0 && <NewsBar text={counted(news.length, "new event")} show={showNews} />}
      {list.pages.error.value !== null && (
        <Failure what="The list" error={list.pages.error.value} again={() => list.pages.reload()} />
      )}
      {!list.pages.loaded.value && list.pages.error.value === null && <Loading rows={12} />}
      <div class={`events-wrap ${chosen === "" ? "" : "with-side"}`}>
        <div>
          {list.pages.loaded.value && rows.length === 0 && !list.pages.stale.value && <Nothing filters={filters} />}
          {rows.length > 0 && (
            <Table<Event>
              label="Events"
              columns={COLUMNS}
              rows={rows}
              keyOf={({ id }) => id}
              href={({ id }) => withParams({ event: String(id) })}
              total={rows.length}
              cursor={cursor}
              stale={list.pages.stale.value}
              narrowHeight={NARROW_HEIGHT}
              nearEnd={() => list.pages.more()}
              foot={({ first, last }) => <Foot {...{ first, last }} loaded={rows.length} complete={list.pages.complete.value} />}
            />
          )}
        </div>
        {chosen !== "" && <EventDetail key={chosen} id={chosen} />}
      </div>
    </>
  );
}

function useEventList(filters: EventFilters, paused: () => boolean): EventList {
  const list = useMemo(() => new EventList(filters), []);
  const key = JSON.stringify(filters);
  const first = useRef(true);
  list.mayEnter = () => window.scrollY <= TOP_PX && !document.hidden && !paused();
  useEffect(() => {
    if (!first.current && !isRestoring()) window.scrollTo(0, 0);
    first.current = false;
    list.show(filters);
  }, [key]);
  useEffect(() => () => list.end(), []);
  return list;
}

function Foot({
  first,
  last,
  loaded,
  complete,
}: {
  first: number;
  last: number;
  loaded: number;
  complete: boolean;
}): JSX.Element {
  return (
    <div class="foot">
      <span>{complete ? `${count(loaded)} in all` : `${count(loaded)} loaded, older ones follow`}</span>
      <span class="push">
        Rows {count(first)} to {count(last)}
      </span>
      <span class="row keys-hint">
        <Key name="j" /> <Key name="k" /> move <Key name="Enter" /> open <Key name="/" /> filter <Key name="?" /> keys
      </span>
    </div>
  );
}

function Nothing({ filters }: { filters: EventFilters }): JSX.Element {
  if (!hasEventFilters(filters))
    return (
      <Empty title="No events yet" command={'await emit("shop.price.changed", { article: "tea" })'}>
        Every meaningful change is recorded here: runs, tasks, schedules, rules, and what flows and clients emit.
      </Empty>
    );
  return (
    <Empty title="No event matches">
      <p>Nothing that is kept fits these filters.</p>
      <p class="row wrap">
        {filters.range !== "" && (
          <a class="button small" href={withParams({ range: null })}>
            Any time
          </a>
        )}
        {filters.name !== "" && (
          <a class="button small" href={withParams({ name: null })}>
            Any name
          </a>
        )}
        <a class="button small" href="/events">
          All events
        </a>
      </p>
    </Empty>
  );
}

/** What was recorded about a run, oldest first. */
import type { JSX } from "preact";
import type { Event, EventsPage } from "#protocol/event";
import { useQuery } from "../../api/query.ts";
import { logTime } from "../../format/time.ts";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import type { TabProps } from "./run-page.tsx";

const LIMIT = 500;

export function Tab({ run }: TabProps): JSX.Element {
  const path = `/api/events?ascending=true&limit=${LIMIT}&run_id=${run.id}`;
  const query = useQuery<EventsPage>(path, { live: { "event.created": ({ run_id }) => run_id === run.id } });
  if (query.error !== null && query.data === null)
    return <Failure what="The list of events" error={query.error} again={query.refresh} />;
  if (query.data === null) return <Loading />;
  const { items, next_cursor } = query.data;
  if (items.length === 0)
    return <Empty title="No events are kept">Old events go after the days that are set for retention.</Empty>;
  return (
    <>
      <ol class="event-list">
        {items.map((event) => (
          <EventRow key={event.id} event={event} />
        ))}
      </ol>
      {next_cursor !== null && next_cursor !== undefined && <p class="sub">The first {LIMIT} events are shown.</p>}
    </>
  );
}

function EventRow({ event }: { event: Event }): JSX.Element {
  const { occurred, name, resource, payload } = event;
  const about = resource.kind === "run" ? "" : (resource.name ?? resource.id);
  return (
    <li>
      <time class="mono faint">{logTime(occurred)}</time>
      <b>{name}</b>
      <span class="cut dim" title={about}>
        {about}
      </span>
      <details>
        <summary>payload</summary>
        <pre>{JSON.stringify(payload ?? {}, null, 2)}</pre>
      </details>
    </li>
  );
}

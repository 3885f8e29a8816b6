/** The events of a run, oldest first. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Event, EventsPage } from "#protocol/records/event";
import { withQuery } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { logTime } from "../../format/time.ts";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import type { TabProps } from "./run-page.tsx";

const PAGE = 200;

export function Tab({ run }: TabProps): JSX.Element {
  /** The start cursor of each part. */
  const [parts, setParts] = useState<readonly (number | null)[]>([null]);
  return (
    <ol class="event-list">
      {parts.map((cursor, index) => (
        <Part
          key={cursor}
          runId={run.id}
          cursor={cursor}
          more={index === parts.length - 1 ? (next) => setParts([...parts, next]) : null}
        />
      ))}
    </ol>
  );
}

interface PartProps {
  runId: number;
  cursor: number | null;
  /** Shows the next part; null if it is shown. */
  more: ((cursor: number) => void) | null;
}

function Part({ runId, cursor, more }: PartProps): JSX.Element {
  const path = withQuery("/api/events", { ascending: true, limit: PAGE, run_id: runId, cursor });
  const query = useQuery<EventsPage>(path, { run: runId, live: { "event.created": () => more !== null } });
  if (query.error !== null && query.data === null)
    return (
      <li>
        <Failure what="The list of events" error={query.error} again={query.refresh} />
      </li>
    );
  if (query.data === null)
    return (
      <li>
        <Loading />
      </li>
    );
  const { items, next_cursor } = query.data;
  if (items.length === 0 && cursor === null)
    return (
      <li>
        <Empty title="No events are kept">Old events go after the days that are set for retention.</Empty>
      </li>
    );
  return (
    <>
      {items.map((event) => (
        <EventRow key={event.id} event={event} />
      ))}
      {more !== null && next_cursor !== null && next_cursor !== undefined && (
        <li>
          <button type="button" class="button small" onClick={() => more(next_cursor)}>
            Show the next {PAGE}
          </button>
        </li>
      )}
    </>
  );
}

function EventRow({ event }: { event: Event }): JSX.Element {
  const { occurred, name, resource, payload } = event;
  const about = resource.kind === "run" ? "" : (resource.name ?? resource.id);
  return (
    <li class="event-row">
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

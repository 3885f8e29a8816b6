/** One event in full, beside the list. */
import type { JSX } from "preact";
import type { Event, Resource } from "#protocol/records/event";
import type { Vocabulary } from "#protocol/vocabulary";
import { withQuery } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { fullTime } from "../../format/time.ts";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import { EventGlyph, kindWord, resourceAddress } from "../../records/event-parts.tsx";
import { withParams } from "../../router/router.ts";

export function EventDetail({ id }: { id: string }): JSX.Element {
  const query = useQuery<Event>(`/api/events/${encodeURIComponent(id)}`);
  const { data: event, error } = query;
  return (
    <aside class="side" aria-label="The chosen event">
      {error?.status === 404 || error?.status === 400 ? (
        <Empty title={`There is no event ${id}`}>Old events go after the days that are set for retention.</Empty>
      ) : (
        error !== null && <Failure what="The event" error={error} again={query.refresh} />
      )}
      {event === null && error === null && <Loading rows={4} />}
      {event !== null && String(event.id) === id && <Detail event={event} />}
      <a class="button quiet side-close" href={withParams({ event: null })}>
        Close
      </a>
    </aside>
  );
}

function Detail({ event }: { event: Event }): JSX.Element {
  const entry = useQuery<Vocabulary>("/api/vocabulary").data?.events.find(({ name }) => name === event.name);
  const { name, id, occurred, resource, related = [], payload = {}, run_id, flow_id } = event;
  return (
    <>
      <h2 class="row">
        <EventGlyph event={event} /> {name}
      </h2>
      {entry !== undefined && <p class="dim">{entry.when}.</p>}
      <dl class="key-values">
        <dt>Number</dt>
        <dd class="number">{id}</dd>
        <dt>Occurred</dt>
        <dd>
          <time>{fullTime(occurred)}</time>
        </dd>
        <dt>About</dt>
        <dd>
          <ResourceLink resource={resource} event={event} />
        </dd>
        {related.length > 0 && (
          <>
            <dt>Related</dt>
            <dd>
              <ul>
                {related.map((each) => (
                  <li key={`${each.kind} ${each.id}`}>
                    <ResourceLink resource={each} event={event} />
                  </li>
                ))}
              </ul>
            </dd>
          </>
        )}
      </dl>
      <div class="row wrap side-actions">
        <a class="button small" href={withQuery("/rules", { new: "rule", event: name })}>
          Make a rule from this
        </a>
        <a class="button small" href={withParams({ name })}>
          Only {name}
        </a>
        {run_id != null && (
          <a class="button small" href={withParams({ run: String(run_id), name: null })}>
            All of its run
          </a>
        )}
        {flow_id != null && (
          <a class="button small" href={withParams({ flow: String(flow_id), name: null, run: null })}>
            All of its flow
          </a>
        )}
      </div>
      <h3>Payload</h3>
      <pre class="sunk">{JSON.stringify(payload, null, 2)}</pre>
    </>
  );
}

function ResourceLink({ resource, event }: { resource: Resource; event: Event }): JSX.Element {
  const name = resource.name ?? resource.id;
  const href = resourceAddress(resource, event);
  return (
    <>
      <span class="faint">{kindWord(resource.kind)} </span>
      {href === null ? (
        name
      ) : (
        <a class="underlined" href={href}>
          {name}
        </a>
      )}
    </>
  );
}

/** The columns of the events page. */
import type { JSX } from "preact";
import type { Event } from "#protocol/records/event";
import { nowUs } from "../../format/now.ts";
import { day, fullTime, logTime, sameDay } from "../../format/time.ts";
import type { Column } from "../../parts/table/table.tsx";
import { EventGlyph, eventText, kindWord, resourceAddress } from "../../records/event-parts.tsx";
import { withParams } from "../../router/router.ts";

function About({ event }: { event: Event }): JSX.Element {
  const { resource } = event;
  const name = resource.name ?? resource.id;
  const href = resourceAddress(resource, event);
  return (
    <span class="event-about" title={`${resource.kind} ${name}`}>
      <span class="faint">{kindWord(resource.kind)}</span>
      {href === null ? (
        <span class="cut">{name}</span>
      ) : (
        <a class="cut" href={href}>
          {name}
        </a>
      )}
    </span>
  );
}

function Time({ us }: { us: number }): JSX.Element {
  return (
    <time title={fullTime(us)}>
      {!sameDay(us, nowUs()) && <span class="faint">{day(us)} </span>}
      {logTime(us)}
    </time>
  );
}

export const COLUMNS: readonly Column<Event>[] = [
  { id: "time", head: "Time", width: "168px", narrow: "end", cell: ({ occurred }) => <Time us={occurred} /> },
  {
    id: "name",
    head: "Event",
    width: "200px",
    narrow: "start",
    cell: (event) => (
      <span class="row event-name">
        <span class="event-glyph">
          <EventGlyph event={event} />
        </span>
        <a class="cut name" href={withParams({ event: String(event.id) })} title={event.name}>
          {event.name}
        </a>
      </span>
    ),
  },
  { id: "about", head: "About", width: "28%", narrow: "line", cell: (event) => <About event={event} /> },
  {
    id: "says",
    head: "Says",
    narrow: "line",
    cell: (event) => {
      const text = eventText(event);
      return (
        <span class="cut why" title={text}>
          {text}
        </span>
      );
    },
  },
];

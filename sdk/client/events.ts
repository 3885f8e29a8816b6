/** `client.events`: the recorded history. */

import type { EventsQuery } from "#protocol/records/event";
import type { Http } from "./http.ts";
import { type CreateOptions, keyOf } from "./idempotency.ts";
import { Listing, type ListOptions, type Page } from "./listing.ts";
import type { EmitEventBody, Event, FilterOf, Loose } from "./records.ts";

/**
 * Filters of the event list; all must match. `name` is an exact name or a prefix that ends in `*`; `after` and `before` bound
 * the time (microseconds, both included); newest first unless `ascending` is set.
 */
export type EventFilter = FilterOf<EventsQuery>;

/** Without a resource the event is about the given run or flow, else about itself. */
export type EmitEvent = Loose<EmitEventBody> & { name: string };

export class Events {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Events, newest first. */
  list(filter: EventFilter = {}, options: ListOptions = {}): Listing<Event> {
    return new Listing((cursor) =>
      this.#http.get<Page<Event>>("/api/events", { ...filter, limit: options.pageSize, cursor }, options.signal),
    );
  }

  /** An event by its id. @throws MillraceError 404. */
  get(id: number): Promise<Event> {
    return this.#http.get<Event>(`/api/events/${id}`);
  }

  /** Records an event. @throws MillraceError 422 for a name under a reserved prefix. */
  emit(event: EmitEvent, options: CreateOptions = {}): Promise<Event> {
    const call = { body: event, idempotencyKey: keyOf(options), signal: options.signal };
    return this.#http.json<Event>("POST", "/api/events", call);
  }
}

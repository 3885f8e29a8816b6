/** `client.events`: the recorded history. */

import { type Http, randomKey } from "./http.ts";
import { Listing, type ListOptions, type Page } from "./listing.ts";
import type { Event, JsonObject, Resource } from "./records.ts";
import type { CreateOptions } from "./runs.ts";

/** Filters of the event list; all must hold. Times are microseconds, both ends included. */
export interface EventFilter {
  /** An exact name, or a prefix that ends in `*`. */
  name?: string | undefined;
  resource_kind?: string | undefined;
  resource_id?: string | undefined;
  run_id?: number | undefined;
  flow_id?: number | undefined;
  after?: number | undefined;
  before?: number | undefined;
  /** Oldest first. Default: newest first. */
  ascending?: boolean | undefined;
}

export interface EmitEvent {
  name: string;
  payload?: JsonObject | undefined;
  resource?: Resource | undefined;
  run_id?: number | undefined;
  flow_id?: number | undefined;
}

export class Events {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  list(filter: EventFilter = {}, options: ListOptions = {}): Listing<Event> {
    return new Listing((cursor) =>
      this.#http.get<Page<Event>>("/api/events", { ...filter, limit: options.pageSize, cursor }, options.signal),
    );
  }

  /** @throws MillraceError 404. */
  get(id: number): Promise<Event> {
    return this.#http.get<Event>(`/api/events/${id}`);
  }

  /** Records an event. @throws MillraceError 422 for a name under a reserved prefix that nothing emits. */
  emit(event: EmitEvent, options: CreateOptions = {}): Promise<Event> {
    const { idempotencyKey = randomKey(), signal } = options;
    return this.#http.json<Event>("POST", "/api/events", { body: event, idempotencyKey, signal });
  }
}

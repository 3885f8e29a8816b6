/**
 * The rows of the events page: pages of the server, newest first, with new events from the stream. New events enter at once
 * while the list is at its top and not held; otherwise they are counted until the user asks for them. Events never change.
 */
import { batch, signal } from "@preact/signals";
import type { Event, EventsPage } from "#protocol/records/event";
import { PagedQuery, type PagePath } from "../../api/paged-query.ts";
import { onLive } from "../../live/link.ts";
import { type EventFilters, eventFits, eventListPath } from "./filters.ts";

const PAGE = 100;
/** New events that are kept; beyond that only their number is. */
const NEWS_MAX = 1_000;

export class EventList {
  readonly rows = signal<readonly Event[]>([]);
  /** New events that are not shown yet, newest first. */
  readonly news = signal<readonly Event[]>([]);
  /** True while new rows may enter automatically. */
  mayEnter = () => true;

  readonly pages: PagedQuery<EventsPage>;

  #filters: EventFilters;
  /** Arrived since the last drawing; a burst is one change of the page. */
  #fresh: Event[] = [];
  #frame = 0;
  readonly #end = onLive("event.created", (event) => this.#take(event));

  constructor(filters: EventFilters) {
    this.#filters = filters;
    this.pages = new PagedQuery(pathOf(filters), {
      first: ({ items }) => {
        this.#fresh = this.#fresh.filter(({ id }) => id > (items[0]?.id ?? 0));
        this.rows.value = items;
        this.news.value = [];
      },
      next: ({ items }) => {
        this.rows.value = [...this.rows.value, ...items];
      },
    });
  }

  show(filters: EventFilters): void {
    this.#filters = filters;
    this.pages.show(pathOf(filters));
  }

  /** Shows the new events at the top. */
  showNews(): void {
    if (this.news.peek().length >= NEWS_MAX) {
      this.pages.reload();
      return;
    }
    batch(() => {
      this.rows.value = [...this.news.peek(), ...this.rows.peek()];
      this.news.value = [];
    });
  }

  end(): void {
    cancelAnimationFrame(this.#frame);
    this.pages.end();
    this.#end();
  }

  #take(event: Event): void {
    if (!this.pages.loaded.peek() || !eventFits(event, this.#filters)) return;
    this.#fresh.push(event);
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#enter());
  }

  #enter(): void {
    this.#frame = 0;
    const newest = Math.max(this.rows.peek()[0]?.id ?? 0, this.news.peek()[0]?.id ?? 0);
    // The stream repeats messages after a reconnect.
    const fresh = this.#fresh.filter(({ id }) => id > newest).sort((a, b) => b.id - a.id);
    this.#fresh = [];
    if (fresh.length === 0) return;
    if (this.mayEnter() && this.news.peek().length === 0) this.rows.value = [...fresh, ...this.rows.peek()];
    else this.news.value = [...fresh, ...this.news.peek()].slice(0, NEWS_MAX);
  }
}

function pathOf(filters: EventFilters): PagePath {
  return (cursor) => eventListPath(filters, PAGE, cursor);
}

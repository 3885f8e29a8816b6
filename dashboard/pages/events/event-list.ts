/**
 * The rows of the events page: pages of the server, newest first, with what the stream brings. New events enter at once while
 * the reader is at the top and the list is not held; else they are counted until asked for. Events never change.
 */
import { batch, signal } from "@preact/signals";
import type { Event, EventsPage } from "#protocol/event";
import { type ApiError, ask, isAbort, mayPass } from "../../api/client.ts";
import { linkTried, onLive, onReset } from "../../live/link.ts";
import { type EventFilters, fits, listPath } from "./filters.ts";

const PAGE = 100;
/** After a failure that may pass. */
const RETRY_MS = 3_000;
/** News that are kept; of more only their number is. */
const NEWS_MAX = 1_000;

export class EventList {
  readonly rows = signal<readonly Event[]>([]);
  /** Events that came since and are not shown yet, newest first. */
  readonly news = signal<readonly Event[]>([]);
  readonly error = signal<ApiError | null>(null);
  /** The rows are those of the former filters. */
  readonly stale = signal(true);
  readonly loaded = signal(false);
  /** True once the oldest event is in the list. */
  readonly complete = signal(false);
  /** True while new rows may enter by themselves. */
  mayEnter = () => true;

  #filters: EventFilters;
  #cursor: number | null = null;
  #abort = new AbortController();
  #loadingMore = false;
  #retry = 0;
  /** Came since the last drawing; a burst is one change of the page. */
  #fresh: Event[] = [];
  #frame = 0;
  readonly #ends: (() => void)[];

  constructor(filters: EventFilters) {
    this.#filters = filters;
    this.#ends = [onLive("event.created", (event) => this.#take(event)), onReset(() => this.reload())];
  }

  show(filters: EventFilters): void {
    this.#filters = filters;
    this.stale.value = true;
    this.reload();
  }

  /** The first page anew. */
  async reload(): Promise<void> {
    window.clearTimeout(this.#retry);
    this.#abort.abort();
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    await linkTried;
    await this.#fetch(null, signal, ({ items, next_cursor }) => {
      this.#cursor = next_cursor ?? null;
      this.#fresh = this.#fresh.filter(({ id }) => id > (items[0]?.id ?? 0));
      this.rows.value = items;
      this.news.value = [];
      this.stale.value = false;
      this.loaded.value = true;
      this.complete.value = this.#cursor === null;
    });
  }

  /** The next page, when there is one. */
  async more(): Promise<void> {
    if (this.#cursor === null || this.#loadingMore || this.stale.value) return;
    this.#loadingMore = true;
    await this.#fetch(this.#cursor, this.#abort.signal, ({ items, next_cursor }) => {
      this.#cursor = next_cursor ?? null;
      this.complete.value = this.#cursor === null;
      this.rows.value = [...this.rows.value, ...items];
    });
    this.#loadingMore = false;
  }

  /** Puts what came since at the top. */
  showNews(): void {
    if (this.news.peek().length >= NEWS_MAX) {
      this.reload();
      return;
    }
    batch(() => {
      this.rows.value = [...this.news.peek(), ...this.rows.peek()];
      this.news.value = [];
    });
  }

  end(): void {
    window.clearTimeout(this.#retry);
    cancelAnimationFrame(this.#frame);
    this.#abort.abort();
    for (const end of this.#ends) end();
  }

  async #fetch(cursor: number | null, signal: AbortSignal, use: (page: EventsPage) => void): Promise<void> {
    try {
      const page = await ask<EventsPage>(listPath(this.#filters, PAGE, cursor), { signal });
      if (signal.aborted) return;
      batch(() => {
        this.error.value = null;
        use(page);
      });
    } catch (cause) {
      if (signal.aborted || isAbort(cause)) return;
      this.error.value = cause as ApiError;
      if (mayPass(this.error.value)) this.#retry = window.setTimeout(() => this.reload(), RETRY_MS);
    }
  }

  #take(event: Event): void {
    if (!this.loaded.peek() || !fits(event, this.#filters)) return;
    this.#fresh.push(event);
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#enter());
  }

  #enter(): void {
    this.#frame = 0;
    const newest = Math.max(this.rows.peek()[0]?.id ?? 0, this.news.peek()[0]?.id ?? 0);
    // The stream repeats after a reconnect.
    const fresh = this.#fresh.filter(({ id }) => id > newest).sort((a, b) => b.id - a.id);
    this.#fresh = [];
    if (fresh.length === 0) return;
    if (this.mayEnter() && this.news.peek().length === 0) this.rows.value = [...fresh, ...this.rows.peek()];
    else this.news.value = [...fresh, ...this.news.peek()].slice(0, NEWS_MAX);
  }
}

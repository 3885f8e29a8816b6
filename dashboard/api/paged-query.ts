/**
 * A list that is too long for one answer: its first page, and further pages as the user scrolls near the end. The first page is
 * fetched again when the query changes, when the stream has lost messages, and when the server is back.
 */
import { batch, signal } from "@preact/signals";
import { link, linkTried, onReset } from "../live/link.ts";
import { type ApiError, ask, isAbort, mayPass } from "./client.ts";

/** After a temporary failure. */
const RETRY_MS = 3_000;

/** The address of the page at a cursor; null is the first page. */
export type PagePath = (cursor: number | null) => string;

export interface PageTaker<P> {
  /** The first page, which replaces all rows. */
  first: (page: P) => void;
  /** A page that follows the loaded rows. */
  next: (page: P) => void;
  /** False while the list fetches the next page automatically. */
  enough?: () => boolean;
}

export class PagedQuery<P extends { next_cursor?: number | null }> {
  readonly error = signal<ApiError | null>(null);
  /** The rows belong to the former query. */
  readonly stale = signal(true);
  /** False until the first answer. */
  readonly loaded = signal(false);
  /** True once the last page is loaded. */
  readonly complete = signal(false);

  #path: PagePath;
  readonly #take: PageTaker<P>;
  #cursor: number | null = null;
  #abort = new AbortController();
  /** Further pages follow the rows of the first page, so they wait for it. */
  #awaitsFirst = true;
  #loadingMore = false;
  #retry = 0;
  readonly #ends: (() => void)[];

  constructor(path: PagePath, take: PageTaker<P>) {
    this.#path = path;
    this.#take = take;
    this.#ends = [
      onReset(() => this.reload()),
      link.subscribe(({ state }) => {
        if (state === "live" && this.error.peek() !== null) this.reload();
      }),
    ];
  }

  /** Starts another query. */
  show(path: PagePath): Promise<void> {
    this.#path = path;
    this.stale.value = true;
    return this.reload();
  }

  /** Fetches the first page again. */
  async reload(): Promise<void> {
    window.clearTimeout(this.#retry);
    this.#abort.abort();
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    this.#awaitsFirst = true;
    this.#loadingMore = false;
    await linkTried();
    await this.#fetch(null, signal, (page) => {
      this.#take.first(page);
      this.#awaitsFirst = false;
      this.stale.value = false;
      this.loaded.value = true;
    });
    if (!signal.aborted && this.#take.enough?.() === false) await this.more();
  }

  /** Fetches the next page, if there is one. */
  async more(): Promise<void> {
    if (this.#awaitsFirst || this.#cursor === null || this.#loadingMore) return;
    const { signal } = this.#abort;
    this.#loadingMore = true;
    do await this.#fetch(this.#cursor, signal, this.#take.next);
    while (!signal.aborted && this.error.peek() === null && this.#cursor !== null && this.#take.enough?.() === false);
    if (!signal.aborted) this.#loadingMore = false;
  }

  end(): void {
    window.clearTimeout(this.#retry);
    this.#abort.abort();
    for (const end of this.#ends) end();
  }

  async #fetch(cursor: number | null, signal: AbortSignal, use: (page: P) => void): Promise<void> {
    try {
      const page = await ask<P>(this.#path(cursor), { signal });
      if (signal.aborted) return;
      batch(() => {
        this.error.value = null;
        this.#cursor = page.next_cursor ?? null;
        this.complete.value = this.#cursor === null;
        use(page);
      });
    } catch (cause) {
      if (signal.aborted || isAbort(cause)) return;
      this.error.value = cause as ApiError;
      if (mayPass(this.error.value)) this.#retry = window.setTimeout(() => this.reload(), RETRY_MS);
    }
  }
}

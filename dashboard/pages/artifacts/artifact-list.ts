/** Artifacts across runs in pages, newest first. What is published meanwhile enters at the top, or waits to be asked for. */
import { signal } from "@preact/signals";
import type { ArtifactListItem, ArtifactRow, ArtifactsPage } from "#protocol/artifact";
import { type ApiError, ask, isAbort, mayPass, type QueryValues, withQuery } from "../../api/client.ts";
import { linkTried, onLive, onReset } from "../../live/link.ts";

/** Artifacts come with their data, up to 1 MB each. */
const PAGE = 50;
/** News are fetched once for all that arrives within this time. */
const NEWS_MS = 1_000;
/** After a failure that may pass. */
const RETRY_MS = 3_000;

export interface ArtifactFilters {
  kind: string;
  key: string;
  project: string;
  flow: string;
}

export class ArtifactList {
  readonly items = signal<readonly ArtifactListItem[]>([]);
  readonly error = signal<ApiError | null>(null);
  readonly loaded = signal(false);
  /** Artifacts that were published since, by id. */
  readonly news = signal<ReadonlySet<number>>(new Set());
  /** True while new rows may enter by themselves. */
  atTop = () => true;

  readonly #filters: ArtifactFilters;
  readonly #ends: (() => void)[];
  #abort = new AbortController();
  #after: number | null = null;
  #loadingMore = false;
  #timer = 0;

  constructor(filters: ArtifactFilters) {
    this.#filters = filters;
    this.#ends = [onLive("artifact.updated", (artifact) => this.#take(artifact)), onReset(() => this.reload())];
    this.reload();
  }

  async reload(): Promise<void> {
    window.clearTimeout(this.#timer);
    this.#timer = 0;
    this.#abort.abort();
    this.#abort = new AbortController();
    await this.#fetch(null, ({ items, next_cursor }) => {
      this.items.value = items;
      this.#after = next_cursor ?? null;
      this.news.value = new Set();
      this.loaded.value = true;
    });
  }

  async more(): Promise<void> {
    if (this.#after === null || this.#loadingMore) return;
    this.#loadingMore = true;
    await this.#fetch(this.#after, ({ items, next_cursor }) => {
      this.#after = next_cursor ?? null;
      this.items.value = [...this.items.peek(), ...items];
    });
    this.#loadingMore = false;
  }

  end(): void {
    window.clearTimeout(this.#timer);
    this.#abort.abort();
    for (const end of this.#ends) end();
  }

  async #fetch(after: number | null, use: (page: ArtifactsPage) => void): Promise<void> {
    const { signal } = this.#abort;
    try {
      await linkTried;
      const query: QueryValues = { ...this.#filters, limit: PAGE, after };
      const page = await ask<ArtifactsPage>(withQuery("/api/artifacts", query), { signal });
      if (signal.aborted) return;
      this.error.value = null;
      use(page);
    } catch (cause) {
      if (signal.aborted || isAbort(cause)) return;
      this.error.value = cause as ApiError;
      if (mayPass(this.error.value)) this.#reloadIn(RETRY_MS);
    }
  }

  #reloadIn(ms: number): void {
    if (this.#timer === 0) this.#timer = window.setTimeout(() => this.reload(), ms);
  }

  #take(artifact: ArtifactRow): void {
    const { items, news } = this;
    if (items.peek().some(({ id }) => id === artifact.id)) {
      items.value = items.peek().map((item) => (item.id === artifact.id ? { ...item, ...artifact } : item));
      return;
    }
    const { kind, key } = this.#filters;
    const fits = (kind === "" || kind === artifact.kind) && (key === "" || key === artifact.key);
    // Of which flow it is, the message does not say: the server does, when the list is read anew.
    if (!fits || artifact.id < (items.peek()[0]?.id ?? 0)) return;
    if (this.atTop()) this.#reloadIn(NEWS_MS);
    else news.value = new Set([...news.peek(), artifact.id]);
  }
}

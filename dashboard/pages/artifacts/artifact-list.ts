/**
 * Artifacts across runs in pages, newest first. Newly published artifacts enter at the top, or wait until the user asks for
 * them.
 */
import { signal } from "@preact/signals";
import type { ArtifactListItem, ArtifactRow, ArtifactsPage } from "#protocol/records/artifact";
import { withQuery } from "../../api/client.ts";
import { PagedQuery } from "../../api/paged-query.ts";
import { onLive } from "../../live/link.ts";

/** Artifacts include their data, up to 1 MB each. */
const PAGE = 50;
/** New artifacts that arrive within this time are fetched together. */
const NEWS_MS = 1_000;

export interface ArtifactFilters {
  kind: string;
  key: string;
  project: string;
  flow: string;
}

export class ArtifactList {
  readonly items = signal<readonly ArtifactListItem[]>([]);
  /** Artifacts published since the last read, by id. */
  readonly news = signal<ReadonlySet<number>>(new Set());
  /** True while new rows may enter automatically. */
  atTop = () => true;

  readonly pages: PagedQuery<ArtifactsPage>;

  readonly #filters: ArtifactFilters;
  readonly #end = onLive("artifact.updated", (artifact) => this.#take(artifact));
  #timer = 0;

  constructor(filters: ArtifactFilters) {
    this.#filters = filters;
    const path = (after: number | null) => withQuery("/api/artifacts", { ...filters, limit: PAGE, after });
    this.pages = new PagedQuery(path, {
      first: ({ items }) => {
        this.items.value = items;
        this.news.value = new Set();
      },
      next: ({ items }) => {
        this.items.value = [...this.items.peek(), ...items];
      },
    });
    this.pages.reload();
  }

  end(): void {
    window.clearTimeout(this.#timer);
    this.pages.end();
    this.#end();
  }

  #take(artifact: ArtifactRow): void {
    const { items, news } = this;
    if (items.peek().some(({ id }) => id === artifact.id)) {
      items.value = items.peek().map((item) => (item.id === artifact.id ? { ...item, ...artifact } : item));
      return;
    }
    const { kind, key } = this.#filters;
    const fits = (kind === "" || kind === artifact.kind) && (key === "" || key === artifact.key);
    // The message does not name the flow: the server does, when the list is read again.
    if (!fits || artifact.id < (items.peek()[0]?.id ?? 0)) return;
    if (!this.atTop()) news.value = new Set([...news.peek(), artifact.id]);
    else if (this.#timer === 0) this.#timer = window.setTimeout(() => this.#refresh(), NEWS_MS);
  }

  #refresh(): void {
    this.#timer = 0;
    this.pages.reload();
  }
}

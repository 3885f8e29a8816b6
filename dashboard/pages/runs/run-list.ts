/**
 * The rows of the runs page: pages of the server in the order of the sort, kept true by the stream. A row that changes is drawn
 * alone. New rows enter at once while the reader is at the top of the newest runs; else they are counted until asked for.
 */
import { type Signal, signal } from "@preact/signals";
import type { Run, RunsPage } from "#protocol/run";
import { PagedQuery, type PagePath } from "../../api/paged-query.ts";
import { onLive } from "../../live/link.ts";
import { isDeleted } from "../../live/messages.ts";
import { fits, listPath, type RunFilters } from "./filters.ts";

const PAGE = 100;

export interface RunRow {
  id: number;
  run: Signal<Run>;
}

export class RunList {
  /** In the order of the sort. */
  readonly rows = signal<readonly RunRow[]>([]);
  /** Runs that came since and are not shown yet. */
  readonly news = signal<readonly Run[]>([]);
  /** True while new rows may enter by themselves. */
  atTop = () => true;

  readonly pages: PagedQuery<RunsPage>;

  #filters: RunFilters;
  readonly #known = new Map<number, RunRow>();
  readonly #end = onLive("run.updated", (run) => this.#take(run));

  constructor(filters: RunFilters) {
    this.#filters = filters;
    this.pages = new PagedQuery(pathOf(filters), {
      first: ({ items }) => {
        this.#known.clear();
        this.rows.value = items.map((run) => this.#rowFor(run));
        this.news.value = [];
      },
      next: ({ items }) => {
        // A run that entered meanwhile is not listed twice.
        const added = items.filter(({ id }) => !this.#known.has(id)).map((run) => this.#rowFor(run));
        this.rows.value = [...this.rows.value, ...added];
      },
    });
  }

  show(filters: RunFilters): void {
    this.#filters = filters;
    this.pages.show(pathOf(filters));
  }

  end(): void {
    this.pages.end();
    this.#end();
  }

  #rowFor(run: Run): RunRow {
    const row = { id: run.id, run: signal(run) };
    this.#known.set(run.id, row);
    return row;
  }

  #take(message: Run | { id: number; deleted: true }): void {
    const known = this.#known.get(message.id);
    if (isDeleted(message)) {
      this.#drop(message.id);
      return;
    }
    if (known !== undefined) known.run.value = message;
    else if (this.pages.loaded.peek() && fits(message, this.#filters)) this.#arrived(message);
  }

  #drop(id: number): void {
    if (this.#known.delete(id)) this.rows.value = this.rows.value.filter((row) => row.id !== id);
    this.news.value = this.news.value.filter((run) => run.id !== id);
  }

  /** A run that belongs into the list and is not in it. */
  #arrived(run: Run): void {
    const newest = this.rows.peek()[0]?.id ?? 0;
    const last = this.rows.peek().at(-1)?.id ?? 0;
    const byAge = this.#filters.sort === "" || this.#filters.sort === "created_desc";
    // It is older than what was loaded so far, and comes with its page.
    if (byAge && run.id < last && !this.pages.complete.peek()) return;
    if (byAge && run.id > newest && this.news.peek().length === 0 && this.atTop())
      this.rows.value = [this.#rowFor(run), ...this.rows.peek()];
    else this.news.value = [...this.news.peek().filter(({ id }) => id !== run.id), run];
  }
}

function pathOf(filters: RunFilters): PagePath {
  return (cursor) => listPath(filters, PAGE, cursor);
}

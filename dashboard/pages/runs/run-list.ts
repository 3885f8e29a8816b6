/**
 * The rows of the runs page: pages of the server in the order of the sort, kept true by the stream. A row that changes is drawn
 * alone. New rows enter at once while the reader is at the top of the newest runs; else they are counted until asked for.
 */
import { batch, type Signal, signal } from "@preact/signals";
import type { Run, RunsPage } from "#protocol/run";
import { type ApiError, ask, isAbort, mayPass } from "../../api/client.ts";
import { linkTried, onLive, onReset } from "../../live/link.ts";
import { isDeleted } from "../../live/messages.ts";
import { fits, listPath, type RunFilters } from "./filters.ts";

const PAGE = 100;
/** After a failure that may pass. */
const RETRY_MS = 3_000;

export interface RunRow {
  id: number;
  run: Signal<Run>;
}

export class RunList {
  /** In the order of the sort. */
  readonly rows = signal<readonly RunRow[]>([]);
  /** Runs that came since and are not shown yet. */
  readonly news = signal<readonly Run[]>([]);
  readonly error = signal<ApiError | null>(null);
  /** The rows are those of the former filters. */
  readonly stale = signal(true);
  /** False until the first answer. */
  readonly loaded = signal(false);
  /** True while new rows may enter by themselves. */
  atTop = () => true;

  #filters: RunFilters;
  readonly #known = new Map<number, RunRow>();
  #cursor: number | null = null;
  #abort = new AbortController();
  #loadingMore = false;
  #retry = 0;
  readonly #ends: (() => void)[];

  constructor(filters: RunFilters) {
    this.#filters = filters;
    this.#ends = [onLive("run.updated", (run) => this.#take(run)), onReset(() => this.reload())];
  }

  show(filters: RunFilters): void {
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
      this.#known.clear();
      this.rows.value = items.map((run) => this.#rowFor(run));
      this.news.value = [];
      this.stale.value = false;
      this.loaded.value = true;
    });
  }

  /** The next page, when there is one. */
  async more(): Promise<void> {
    if (this.#cursor === null || this.#loadingMore || this.stale.value) return;
    this.#loadingMore = true;
    await this.#fetch(this.#cursor, this.#abort.signal, ({ items, next_cursor }) => {
      this.#cursor = next_cursor ?? null;
      // A run that entered meanwhile is not listed twice.
      const added = items.filter(({ id }) => !this.#known.has(id)).map((run) => this.#rowFor(run));
      this.rows.value = [...this.rows.value, ...added];
    });
    this.#loadingMore = false;
  }

  /** Shows what came since: the first page anew, because its place depends on the sort. */
  showNews(): void {
    this.reload();
  }

  end(): void {
    window.clearTimeout(this.#retry);
    this.#abort.abort();
    for (const end of this.#ends) end();
  }

  async #fetch(cursor: number | null, signal: AbortSignal, use: (page: RunsPage) => void): Promise<void> {
    try {
      const page = await ask<RunsPage>(listPath(this.#filters, PAGE, cursor), { signal });
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
    else if (this.loaded.peek() && fits(message, this.#filters)) this.#arrived(message);
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
    if (byAge && run.id < last && this.#cursor !== null) return;
    if (byAge && run.id > newest && this.news.peek().length === 0 && this.atTop())
      this.rows.value = [this.#rowFor(run), ...this.rows.peek()];
    else this.news.value = [...this.news.peek().filter(({ id }) => id !== run.id), run];
  }
}

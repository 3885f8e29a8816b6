/**
 * The rows of the runs page: pages of the server in the order of the sort, updated by the stream. A changed row is redrawn
 * alone. In the order of activity, runs enter and move at once while the list is at its top; otherwise they are counted until
 * the user asks for them.
 */
import { type Signal, signal } from "@preact/signals";
import type { Run, RunsPage } from "#protocol/records/run";
import { PagedQuery, type PagePath } from "../../api/paged-query.ts";
import { onLive } from "../../live/link.ts";
import { isDeleted } from "../../live/messages.ts";
import { compareActivity, type Phase, phaseOf } from "./activity.ts";
import { type RunFilters, runFits, runListPath } from "./filters.ts";

const PAGE = 100;
/** A search continues automatically until it has found this many more runs. */
const FOUND_AT_ONCE = 50;
/** Rows move to their positions together. */
const SETTLE_MS = 300;

export interface RunRow {
  id: number;
  run: Signal<Run>;
  /** The run's position in the order when it entered. */
  phase: Phase;
}

export class RunList {
  /** In the order of the sort. */
  readonly rows = signal<readonly RunRow[]>([]);
  /** New runs that are not shown yet. */
  readonly news = signal<readonly Run[]>([]);
  /** True while new rows may enter automatically. */
  atTop = () => true;

  readonly pages: PagedQuery<RunsPage>;

  #filters: RunFilters;
  #wanted = FOUND_AT_ONCE;
  #settling = 0;
  readonly #known = new Map<number, RunRow>();
  readonly #end = onLive("run.updated", (run) => this.#take(run));

  constructor(filters: RunFilters) {
    this.#filters = filters;
    this.pages = new PagedQuery(this.#path(), {
      first: ({ items }) => {
        this.#known.clear();
        this.rows.value = items.map((run) => this.#rowFor(run));
        this.news.value = [];
        this.#wanted = FOUND_AT_ONCE;
      },
      next: ({ items }) => {
        // A run that entered during the request is not listed twice.
        const added = items.filter(({ id }) => !this.#known.has(id)).map((run) => this.#rowFor(run));
        this.rows.value = [...this.rows.value, ...added];
      },
      // Pages of a search may be short or empty before its end.
      enough: () => this.#filters.search === "" || this.rows.peek().length >= this.#wanted,
    });
  }

  /** More rows, when the user scrolls near the end. */
  more(): void {
    this.#wanted = this.rows.peek().length + FOUND_AT_ONCE;
    this.pages.more();
  }

  show(filters: RunFilters): void {
    this.#filters = filters;
    this.pages.show(this.#path());
  }

  end(): void {
    window.clearTimeout(this.#settling);
    this.pages.end();
    this.#end();
  }

  #rowFor(run: Run): RunRow {
    const row = { id: run.id, run: signal(run), phase: phaseOf(run) };
    this.#known.set(run.id, row);
    return row;
  }

  #take(message: Run | { id: number; deleted: true }): void {
    const known = this.#known.get(message.id);
    if (isDeleted(message)) {
      this.#drop(message.id);
      return;
    }
    if (known !== undefined) this.#changed(known, message);
    else if (this.pages.loaded.peek() && runFits(message, this.#filters)) this.#arrived(message);
  }

  #drop(id: number): void {
    if (this.#known.delete(id)) this.rows.value = this.rows.value.filter((row) => row.id !== id);
    this.news.value = this.news.value.filter((run) => run.id !== id);
  }

  /** A row whose run moved: a run that started or ended has another position. */
  #changed(row: RunRow, run: Run): void {
    const before = phaseOf(row.run.peek());
    row.run.value = run;
    const after = phaseOf(run);
    if (before === after || !this.#byActivity) return;
    if (this.#mayMove()) this.#settle();
    else if (before === "coming") this.news.value = [...this.news.peek().filter(({ id }) => id !== run.id), run];
  }

  /** A run that belongs in the list and is not in it. */
  #arrived(run: Run): void {
    const last = this.rows.peek().at(-1);
    // Its position is after the loaded rows, so it comes with its page.
    if (this.#byActivity && !this.pages.complete.peek() && (last === undefined || compareActivity(run, last.run.peek()) > 0))
      return;
    if (this.#byActivity && (this.#mayMove() || phaseOf(run) === "coming")) this.#enter(run);
    else this.news.value = [...this.news.peek().filter(({ id }) => id !== run.id), run];
  }

  get #byActivity(): boolean {
    return this.#filters.sort === "";
  }

  #mayMove(): boolean {
    return this.atTop() && this.news.peek().length === 0;
  }

  #enter(run: Run): void {
    const rows = this.rows.peek();
    const at = rows.findIndex((row) => compareActivity(run, row.run.peek()) < 0);
    this.rows.value = rows.toSpliced(at === -1 ? rows.length : at, 0, this.#rowFor(run));
  }

  #settle(): void {
    if (this.#settling !== 0) return;
    this.#settling = window.setTimeout(() => {
      this.#settling = 0;
      if (!this.#mayMove()) return;
      this.rows.value = this.rows.peek().toSorted((a, b) => compareActivity(a.run.peek(), b.run.peek()));
    }, SETTLE_MS);
  }

  #path(): PagePath {
    const filters = this.#filters;
    return (cursor) => runListPath(filters, PAGE, cursor === null ? null : this.#standing(cursor));
  }

  /** The run after which the next page begins: the last that entered before `cursor` and has kept its position. */
  #standing(cursor: number): number {
    if (!this.#byActivity || !this.#known.has(cursor)) return cursor;
    const stands = (row: RunRow) => phaseOf(row.run.peek()) === row.phase;
    const entered = [...this.#known.values()];
    const until = entered.findIndex(({ id }) => id === cursor);
    return entered.slice(0, until + 1).findLast(stands)?.id ?? cursor;
  }
}

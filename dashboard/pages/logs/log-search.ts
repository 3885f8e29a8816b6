/** Log lines of all runs, newest first. The server searches a part of the log for each page, which may hold no line. */
import { signal } from "@preact/signals";
import type { FoundLog, LogSearchPage } from "#protocol/records/log";
import { withQuery } from "../../api/client.ts";
import { PagedQuery } from "../../api/paged-query.ts";
import { param } from "../../router/router.ts";

const PAGE = 100;

export interface LogFilters {
  q: string;
  flow_id: string;
  level: string;
}

export function readLogFilters(): LogFilters {
  return { q: param("q"), flow_id: param("flow"), level: param("level") };
}

export class LogSearch {
  readonly rows = signal<readonly FoundLog[]>([]);
  /** Lines searched so far. */
  readonly searched = signal(0);
  /** Time of the oldest line searched; null once the whole log is. */
  readonly until = signal<number | null>(null);
  readonly pages: PagedQuery<LogSearchPage>;

  constructor(filters: LogFilters) {
    this.pages = new PagedQuery((after) => withQuery("/api/logs", { ...filters, limit: PAGE, after }), {
      first: (page) => {
        this.rows.value = page.items;
        this.#note(page, page.lines_searched);
      },
      next: (page) => {
        if (page.items.length > 0) this.rows.value = [...this.rows.peek(), ...page.items];
        this.#note(page, this.searched.peek() + page.lines_searched);
      },
    });
    this.pages.reload();
  }

  #note({ searched_until }: LogSearchPage, searched: number): void {
    this.searched.value = searched;
    this.until.value = searched_until;
  }
}
